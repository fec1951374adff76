// Every architecture against what PyTorch builds, counts and keeps: the rows of tests/reference.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "core/passes/memory.hpp"
#include "tests/catch.hpp"
#include "tests/support/estimates.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/table.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

void set_key(Value& root, const std::string& key, const std::string& text) {
  const Value number = read_json(text, "set");
  for (Entry& entry : root.map)
    if (entry.key == key) {
      entry.value = number;
      return;
    }
  root.map.push_back({key, number, {}});
}

ModelSource model_of(const Row& row) {
  Diagnostics diagnostics;
  Document document = load_model_document(row.text("model"), diagnostics);
  for (const auto& [key, value] : row.settings("set")) set_key(document.root, key, value);
  return read_model(document.root, document.source, false, document.id, {}, diagnostics);
}

std::vector<GivenOption> options_of_row(const Row& row, const std::string& precision) {
  return {{"batch", row.text("batch")},
          {"seq", row.text("seq")},
          {"precision", precision},
          {"recompute", row.text("recompute")},
          {"dropout", "0"}};
}

// A fused kernel with the FLOPs of flash that also takes a mask and unequal heads.
std::string kernel_with_these_flops(const std::string& attention) {
  return attention == "flash" ? "efficient" : attention;
}

void compare_saved(const Report& report, Comparison& comparison) {
  comparison.equal("saved", report.memory.saved_for_backward.value().value());
  comparison.equal("autocast_weights", report.memory.autocast_weights.value_or(Bytes()).value());
}

// "13x4096": so many layers see so many tokens at most, by a window or a chunk; "-": none does.
std::string windows_of(const ModelInfo& info) {
  std::map<Count, Count> layers;
  for (const AttentionTraits& a : info.attention)
    if (a.window || a.chunk) layers[a.window.value_or(a.chunk.value_or(0))] += a.layers;
  std::string text;
  for (const auto& [tokens, count] : layers)
    text += (text.empty() ? "" : ";") + std::to_string(count) + "x" + std::to_string(tokens);
  return text.empty() ? "-" : text;
}

}  // namespace

TEST_CASE("parameters of every built-in model are PyTorch's", "[architectures]") {
  const auto compare = [](const Row& row, Comparison& comparison) {
    const Parameters parameters = built_in_model(row.text("model")).model->parameters;
    compare_parameters(parameters, comparison);
    comparison.equal("positions", count_parameters(parameters).positions);
  };
  check_table({"parameters.tsv", {"model"}, compare, 120});
}

TEST_CASE("keys that a configuration leaves out are what the library assumes", "[architectures]") {
  const auto compare = [](const Row& row, Comparison& comparison) {
    const ModelSource source = model_from_json(row.text("config"));
    compare_parameters(source.model->parameters, comparison);
    if (row.text("context") != "-") comparison.equal("context", source.model->info.max_seq);
    comparison.equal("windows", windows_of(source.model->info));
  };
  check_table({"defaults.tsv", {"config"}, compare, 55});
}

TEST_CASE("matmul FLOPs of every known model are PyTorch's", "[architectures][flops]") {
  const auto compare = [](const Row& row, Comparison& comparison) {
    std::vector<GivenOption> options = options_of_row(row, "bf16");
    options.push_back({"attention", kernel_with_these_flops(row.text("attention"))});
    options.push_back({"attention-flops", "full"});
    const FlopsReport flops = estimated(model_of(row), options).flops.value();
    const bool model_flops = row.text("attention") == "eager" && row.text("recompute") == "none";
    comparison.equal("forward", flops.forward.value());
    comparison.equal("forward_backward", (model_flops ? flops.model : flops.hardware).value());
  };
  check_table({"flops.tsv", {"model", "batch", "seq", "attention", "recompute", "set"}, compare, 140});
}

TEST_CASE("saved bytes of small models of each family are PyTorch's", "[architectures][memory]") {
  const Value configs = read_json(reference_text("activation_configs.json"), "activation_configs.json");
  std::set<std::string> families;
  const auto compare = [&](const Row& row, Comparison& comparison) {
    const Value* config = configs.find(row.text("config"));
    REQUIRE(config != nullptr);
    std::vector<GivenOption> options = options_of_row(row, row.text("precision"));
    options.pop_back();  // the configurations say their own dropout
    options.push_back({"attention", row.text("attention")});
    compare_saved(estimated(model_from(*config), options), comparison);
    families.insert(config->find("model_type")->text);
  };
  check_table({"saved_bytes.tsv", {"config", "precision", "attention", "recompute", "batch", "seq"}, compare, 480});
  CHECK(families.size() >= 15);
}

TEST_CASE("saved bytes of whole models are PyTorch's", "[architectures][memory]") {
  const auto compare = [](const Row& row, Comparison& comparison) {
    std::vector<GivenOption> options = options_of_row(row, row.text("precision"));
    options.push_back({"attention", row.text("attention")});
    compare_saved(estimated(model_of(row), options), comparison);
  };
  check_table(
      {"saved_bytes_models.tsv", {"model", "precision", "attention", "recompute", "batch", "seq", "set"}, compare, 95});
}

TEST_CASE("peaks of whole models are those MemTracker sees", "[architectures][memory]") {
  const auto compare = [](const Row& row, Comparison& comparison) {
    std::vector<GivenOption> options = options_of_row(row, row.text("precision"));
    options.push_back({"attention", row.text("attention")});
    options.push_back({"optimizer", row.text("optimizer")});
    options.push_back({"optimizer-step", row.text("optimizer_step")});
    const MemoryReport memory = estimated(model_of(row), options).memory;
    comparison.near("peak", static_cast<double>(memory.peak.value()), row.number("peak") * row.number("tolerance"));
    comparison.equal("phase", std::string(name_of(memory.peak_phase.value())));
  };
  check_table({"peaks.tsv",
               {"model", "precision", "attention", "recompute", "batch", "seq", "set", "optimizer", "optimizer_step",
                "tolerance"},
               compare,
               16});
}

TEST_CASE("layers repeated on the books are layers traced one by one", "[architectures]") {
  const std::map<std::string, std::string> sequences{{"llama-3.2-1b", "512"},
                                                     {"gemma-2-2b", "512"},
                                                     {"olmoe-1b-7b", "256"},
                                                     {"gpt-neo-125m", "512"},
                                                     {"deepseek-v3-671b", "128"}};
  for (const auto& [id, seq] : sequences)
    for (const std::string recompute : {"none", "full"}) {
      INFO(id << " " << recompute);
      const ModelSource model = built_in_model(id);
      const Resolved resolved = resolve(options_of({{"batch", "1"},
                                                    {"seq", seq},
                                                    {"precision", "amp-bf16"},
                                                    {"attention", "eager"},
                                                    {"recompute", recompute}}),
                                        model, nullptr);
      std::vector<LeafSpec> leaves;
      for (const Parameter& p : model.model->parameters.all()) leaves.push_back({p.shape, DType::float32, p.trainable});
      const auto traced = [&](bool every) {
        Trace t({DType::bfloat16}, leaves);
        t.trace_every_block = every;
        std::uint64_t loss_begins = 0;
        Tensor loss = model.model->forward(t, resolved.plan.job, loss_begins);
        t.ledger.enter(Phase::loss);
        t.backward(std::move(loss), loss_begins);
        Flops executed;
        for (const Launch& launch : t.tape()) executed += executed_flops(launch, AttentionCounting::full);
        Bytes kept;
        for (const KeptRecord& record : t.kept())
          if (record.first) kept += record.storage * record.repeat;
        CHECK(executed > Flops());
        return std::make_tuple(t.ledger.peak(Phase::forward).total.value(), t.ledger.peak(Phase::loss).total.value(),
                               t.ledger.peak(Phase::backward).total.value(), kept.value(), to_string(executed.value()));
      };
      CHECK(traced(false) == traced(true));
    }
}

TEST_CASE("unknown activations, heads and experts that do not fit are refused", "[architectures]") {
  const auto refused = [](const std::string& more) {
    return R"({"model_type": "mixtral", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
      "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100)" +
           more + "}";
  };
  CHECK_NOTHROW(model_from_json(refused("")));
  CHECK_THROWS_AS(model_from_json(refused(R"(, "hidden_act": "gelu_nwe")")), Error);
  CHECK_THROWS_AS(model_from_json(refused(R"(, "num_local_experts": 2, "num_experts_per_tok": 3)")), Error);
}

TEST_CASE("a rotation the library could not run is warned of, and the tensors are counted", "[architectures]") {
  // Built on the meta device: q 4 x 7 x 64, k and v 2 x 7 x 64, o 64 x 28, gate, up and down 3 x 64 x 128, two norms.
  const Value config = read_json(R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
      "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100, "head_dim": 7})",
                                 "config.json");
  Diagnostics diagnostics;
  const ModelSource model = read_model(config, "config.json", false, "test", {}, diagnostics);
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(diagnostics.all().front().severity == Severity::warning);
  CHECK(diagnostics.all().front().message.find("cannot turn in pairs") != std::string::npos);
  CHECK(layer_elements(model.model->parameters, 0) == 64 * 7 * 4 * 2 + 64 * 7 * 2 * 2 + 3 * 64 * 128 + 128);
  CHECK_NOTHROW(estimated(model, {{"seq", "8"}, {"attention", "eager"}}));
}

TEST_CASE("the page of architectures lists each with its status", "[architectures][docs]") {
  std::ifstream file(std::string(LLMCALC_SOURCE_DIR) + "/docs/reference/architectures.md");
  std::ostringstream page;
  page << file.rdbuf();
  std::size_t listed = 0;
  for (const std::string& line : split(page.str(), '\n'))
    for (const std::string status : {"verified", "counted", "approximate"})
      listed += line.find("` | " + status + " | ") != std::string::npos;
  for (const Architecture& a : architectures()) {
    INFO(a.name);
    const std::string row =
        "| `" + std::string(a.name) + "` | " + std::string(name_of(a.status)) + " | " + std::string(a.summary) + " |";
    CHECK(page.str().find(row) != std::string::npos);
  }
  CHECK(listed == architectures().size());
}
