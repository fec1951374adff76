// Any text as the value of each run option; the first line may name one.
#include "core/run.hpp"

#include "tests/fuzz/target.hpp"

namespace {

void take(std::string_view input) {
  using namespace llmcalc;
  const std::size_t end = input.find('\n');
  const std::string name(input.substr(0, end));
  const std::string value(end == std::string_view::npos ? input : input.substr(end + 1));
  std::vector<GivenOption> given = {{name, value}};
  for (const std::string& known : run_option_names()) given.push_back({known, value});
  Diagnostics diagnostics;
  const RunOptions run = read_run_options(given, diagnostics);
  fuzz::require(!run.batch || *run.batch >= 1, "a batch is at least 1");
  fuzz::require(!run.mfu || (*run.mfu > 0 && *run.mfu <= 1), "a utilization is a share");
  fuzz::require(!run.dropout || (*run.dropout >= 0 && *run.dropout < 1), "a dropout rate is below 1");
  const RunOptions merged = RunOptions().overridden_by(run);
  fuzz::require(merged.batch == run.batch && merged.loss == run.loss, "merging keeps what was said");
}

}  // namespace

LLMCALC_FUZZ_TARGET(take)
