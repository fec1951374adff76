// `llmcalc repeat PATTERN SHAPE [axis=n...]`: einops' repeat.
#include "cli/all_commands.hpp"
#include "cli/product_options.hpp"

namespace llmcalc::cli {

namespace {

Exit run(const Arguments& arguments, Output& output) {
  write_product(rearranged_report(arguments, einsum::Rearrangement::repeat), output);
  return Exit::done;
}

}  // namespace

Command repeat_command() {
  Command command = rearranging_command(einsum::Rearrangement::repeat, "repeat");
  command.summary = "add axes along which a tensor is repeated, by a pattern of einops";
  command.description =
      "A new axis alone is a view with stride 0; merged with another one it takes a copy. New axes need a length: "
      "r=4, or a number in the pattern.";
  command.examples = {"llmcalc repeat 'b h s d -> b (h r) s d' 2,2,16,4 r=4", "llmcalc repeat 's -> b s' 16 b=2"};
  command.explains = true;
  command.run = run;
  return command;
}

}  // namespace llmcalc::cli
