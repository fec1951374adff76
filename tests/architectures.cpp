// Every architecture against what PyTorch builds, counts and keeps: the rows of tests/reference.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "core/passes/memory.hpp"
#include "tests/catch.hpp"
#include "tests/support/estimates.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/rows.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

// "1x110105600;27x794465344": each kind of layer as count x parameters, in rising order.
std::string layers_of(const Parameters& parameters) {
  std::vector<std::pair<Count, Count>> kinds;
  for (std::size_t i = 0; i < parameters.kinds().size(); ++i)
    kinds.emplace_back(static_cast<Count>(parameters.kinds()[i].layers.size()),
                       layer_elements(parameters, static_cast<int>(i)));
  std::sort(kinds.begin(), kinds.end());
  std::string text;
  for (const auto& [count, size] : kinds)
    text += (text.empty() ? "" : ";") + std::to_string(count) + "x" + std::to_string(size);
  return text;
}

bool known(const std::string& id) {
  Diagnostics diagnostics;
  const Document document = load_model_document(id, diagnostics);
  const Value* architecture = document.root.find("architecture");
  return architecture && architecture_named(architecture->text) != nullptr;
}

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

}  // namespace

TEST_CASE("parameters of every built-in model are PyTorch's", "[architectures]") {
  std::size_t compared = 0;
  for (const Row& row : rows("parameters.tsv")) {
    if (!known(row.text("model"))) continue;
    INFO(row.where() << " " << row.text("model"));
    const ModelSource model = built_in_model(row.text("model"));
    const ParameterCounts counts = count_parameters(model.model->parameters);
    CHECK(counts.total == row.count("total"));
    CHECK(counts.active == row.count("active"));
    CHECK(counts.compute == row.count("compute"));
    CHECK(counts.embedding == row.count("embedding"));
    CHECK(counts.head == row.count("head"));
    CHECK(counts.tied == row.flag("tied"));
    CHECK(layers_of(model.model->parameters) == row.text("layers"));
    ++compared;
  }
  CHECK(compared >= 100);
}

TEST_CASE("a wrong parameter is seen", "[architectures]") {
  // One bias more than GPT-2 has: the total and the layer are off by 2304, the comparison above would fail.
  const ModelSource model = built_in_model("gpt2");
  Parameters parameters = model.model->parameters;
  const Count total = count_parameters(parameters).total;
  parameters.add("extra.bias", {2304});
  CHECK(count_parameters(parameters).total == total + 2304);
}

TEST_CASE("matmul FLOPs of every known model are PyTorch's", "[architectures][flops]") {
  for (const Row& row : rows("flops.tsv")) {
    if (!known(row.text("model"))) continue;
    INFO(row.where() << " " << row.text("model"));
    std::vector<GivenOption> options = options_of_row(row, "bf16");
    options.push_back({"attention", kernel_with_these_flops(row.text("attention"))});
    options.push_back({"attention-flops", "full"});
    const Report report = estimated(model_of(row), options);
    const bool model_flops = row.text("attention") == "eager" && row.text("recompute") == "none";
    CHECK(report.flops->forward.value() == row.large_count("forward"));
    CHECK((model_flops ? report.flops->model : report.flops->hardware).value() == row.large_count("forward_backward"));
  }
}

TEST_CASE("saved bytes of small models of each family are PyTorch's", "[architectures][memory]") {
  const Value configs = read_json(reference_text("activation_configs.json"), "activation_configs.json");
  std::set<std::string> families;
  for (const Row& row : rows("saved_bytes.tsv")) {
    const Value* config = configs.find(row.text("config"));
    REQUIRE(config != nullptr);
    if (!architecture_named(config->find("model_type")->text)) continue;
    INFO(row.where() << " " << row.text("config") << " " << row.text("precision") << " " << row.text("attention"));
    std::vector<GivenOption> options = options_of_row(row, row.text("precision"));
    options.pop_back();  // the configurations say their own dropout
    options.push_back({"attention", row.text("attention")});
    const Report report = estimated(model_from(*config), options);
    CHECK(report.memory.saved_for_backward->value() == row.count("saved"));
    CHECK(report.memory.autocast_weights.value_or(Bytes()).value() == row.count("autocast_weights"));
    families.insert(config->find("model_type")->text);
  }
  CHECK(families.size() >= 15);
}

TEST_CASE("saved bytes of whole models are PyTorch's", "[architectures][memory]") {
  for (const Row& row : rows("saved_bytes_models.tsv")) {
    if (!known(row.text("model"))) continue;
    INFO(row.where() << " " << row.text("model") << " " << row.text("precision") << " " << row.text("attention"));
    std::vector<GivenOption> options = options_of_row(row, row.text("precision"));
    options.push_back({"attention", row.text("attention")});
    const Report report = estimated(model_of(row), options);
    CHECK(report.memory.saved_for_backward->value() == row.count("saved"));
  }
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
        return std::make_tuple(t.ledger.peak(Phase::forward).total.value(), t.ledger.peak(Phase::loss).total.value(),
                               t.ledger.peak(Phase::backward).total.value(), executed.value() == 0 ? 0 : 1,
                               kept.value(), static_cast<double>(executed.value()));
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
  CHECK_THROWS_AS(model_from_json(refused(R"(, "head_dim": 7)")), Error);
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
