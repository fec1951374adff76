// Published closed forms out of the tape, and what must hold for any job: parts add up, the peak is the largest phase,
// recomputing more keeps less, longer sequences never need less.
#include <algorithm>

#include "core/resolve.hpp"
#include "tests/catch.hpp"
#include "tests/support/estimates.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

constexpr Count batch = 2, seq = 256, hidden = 512, heads = 8;

// A GPT of so many layers with dropout everywhere.
ModelSource gpt(Count layers) {
  return model_from_json(
      R"({"model_type": "gpt2", "n_embd": 512, "n_head": 8, "n_positions": 256, "vocab_size": 999, "n_layer": )" +
      std::to_string(layers) + "}");
}

ModelSource llama() {
  return model_from_json(
      R"({"model_type": "llama", "hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 6,
    "num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 5000, "tie_word_embeddings": true})");
}

Report run(const ModelSource& model, std::vector<GivenOption> options) {
  const auto given = [&](const char* name) {
    return std::any_of(options.begin(), options.end(), [&](const GivenOption& o) { return o.name == name; });
  };
  if (!given("batch")) options.push_back({"batch", std::to_string(batch)});
  if (!given("seq")) options.push_back({"seq", std::to_string(seq)});
  return estimated(model, options);
}

// Bytes one layer keeps, as a difference.
Count kept_by_layer(const char* recompute) {
  const std::vector<GivenOption> options{
      {"implementation", "megatron"}, {"attention", "eager"}, {"precision", "bf16"}, {"recompute", recompute}};
  return run(gpt(4), options).memory.saved_for_backward->value() -
         run(gpt(3), options).memory.saved_for_backward->value();
}

}  // namespace

TEST_CASE("a layer keeps what Korthikanti et al. publish", "[memory]") {
  // arXiv:2205.05198, Table 2: s b h (34 + 5 a s / h), 34 s b h and 2 s b h. The paper leaves out the mean and the
  // scale of each of the two norms: 4 float32 a token.
  const Count sbh = seq * batch * hidden, norms = 4 * 4 * seq * batch;
  CHECK(kept_by_layer("none") == 34 * sbh + 5 * heads * seq * seq * batch + norms);
  CHECK(kept_by_layer("selective") == 34 * sbh + norms);
  CHECK(kept_by_layer("full") == 2 * sbh);
}

TEST_CASE("a llama layer of fused kernels keeps 34 bytes per token and hidden unit", "[memory]") {
  // Llama-3-8B's proportions, 16 bit: norms 2 x (2 + 2), q 2, k and v 0.5 each, attention 2, gate, up and product 3
  // x 7.
  const auto with_layers = [](Count layers) {
    return run(model_from_json(
                   R"({"model_type": "llama", "hidden_size": 512, "intermediate_size": 1792, "num_attention_heads": 4,
      "num_key_value_heads": 1, "vocab_size": 999, "tie_word_embeddings": false, "num_hidden_layers": )" +
                   std::to_string(layers) + "}"),
               {{"implementation", "fused"}, {"attention", "flash"}, {"precision", "bf16"}});
  };
  const Count layer =
      with_layers(4).memory.saved_for_backward->value() - with_layers(3).memory.saved_for_backward->value();
  // Besides: a float32 a token for each norm, and one a head and token of the kernel's; 24 bytes of its random state.
  CHECK(layer == 34 * seq * batch * 512 + (2 + 4) * 4 * seq * batch + 24);
}

TEST_CASE("parts of every phase add up and the peak is the largest", "[memory]") {
  for (const char* implementation : {"transformers", "fused", "megatron"})
    for (const char* recompute : {"none", "selective", "full"})
      for (const char* precision : {"fp32", "bf16", "amp-bf16", "bf16-master-fp32-grads"})
        for (const char* accumulate : {"1", "4"}) {
          INFO(implementation << " " << recompute << " " << precision << " " << accumulate);
          const Report report = run(llama(), {{"implementation", implementation},
                                              {"recompute", recompute},
                                              {"precision", precision},
                                              {"accumulate", accumulate},
                                              {"attention", "eager"}});
          Bytes largest;
          for (const PhaseReport& phase : report.memory.phases) {
            Bytes sum;
            for (const auto& [part, bytes] : phase.parts) sum += bytes;
            CHECK(sum == phase.peak);
            largest = std::max(largest, phase.peak);
            if (phase.phase == *report.memory.peak_phase) CHECK(phase.peak == report.memory.peak);
          }
          CHECK(largest == report.memory.peak);
          CHECK(*report.memory.reserved >= report.memory.peak);
        }
}

TEST_CASE("recomputing more keeps less", "[memory]") {
  for (const char* attention : {"eager", "flash"}) {
    INFO(attention);
    const auto kept = [&](const char* recompute) {
      const Report report =
          run(gpt(4), {{"attention", attention}, {"precision", "bf16"}, {"recompute", recompute}, {"dropout", "0"}});
      return *report.memory.saved_for_backward;
    };
    CHECK(kept("full") <= kept("selective"));
    CHECK(kept("selective") <= kept("none"));
  }
}

TEST_CASE("a longer sequence never needs less", "[memory]") {
  for (const char* attention : {"eager", "flash"}) {
    Bytes before;
    for (Count length = 1; length <= 300; length += 13) {
      const Report report =
          run(llama(), {{"attention", attention}, {"precision", "bf16"}, {"seq", std::to_string(length)}});
      INFO(attention << " " << length);
      CHECK(report.memory.peak >= before);
      before = report.memory.peak;
    }
  }
}

TEST_CASE("accumulated gradients are there from the start", "[memory]") {
  const Report one = run(llama(), {{"precision", "fp32"}}),
               two = run(llama(), {{"precision", "fp32"}, {"accumulate", "2"}});
  const auto forward = [](const Report& report) { return report.memory.phases.front().peak; };
  CHECK(forward(two) == forward(one) + one.memory.gradients);
}
