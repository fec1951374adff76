// Head and cross-entropy in parts: what each form keeps, and that FLOPs and peaks follow.
#include "tests/catch.hpp"
#include "tests/support/estimates.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

// V = 4096, H = 128: 32 times as many logits as hidden states. 512 tokens.
const char* const config =
    R"({"model_type": "llama", "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2,
  "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 4096, "tie_word_embeddings": false})";
constexpr Count tokens = 512, vocabulary = 4096, hidden = 128;

Report with_loss(const char* loss, const char* precision) {
  static const ModelSource model = model_from_json(config);
  return estimated(model,
                   {{"batch", "2"}, {"seq", "256"}, {"precision", precision}, {"loss", loss}, {"attention", "flash"}});
}

Count saved(const Report& report) { return report.memory.saved_for_backward->value(); }

}  // namespace

TEST_CASE("chunks keep their inputs, the plain loss keeps log-probabilities", "[memory]") {
  // Plain keeps per token 4V bytes of log-probabilities and an 8-byte label, and 4 bytes of total weight; chunks keep
  // nothing but the last norm's output, which plain keeps too.
  const Count plain = saved(with_loss("plain", "bf16"));
  CHECK(plain - saved(with_loss("chunked:8", "bf16")) == tokens * (4 * vocabulary + 8) + 4);
  CHECK(saved(with_loss("chunked:1", "bf16")) == saved(with_loss("chunked:7", "bf16")));
  CHECK(with_loss("chunked:1", "bf16").memory.peak > with_loss("chunked:8", "bf16").memory.peak);
}

TEST_CASE("the fused loss keeps two gradients instead", "[memory]") {
  // Gradients of the head (V, H) and of its input (tokens, H), in bfloat16; not the input itself.
  const Count plain = saved(with_loss("plain", "bf16"));
  CHECK(saved(with_loss("fused", "bf16")) == plain - tokens * (4 * vocabulary + 8) - 4 - 2 * tokens * hidden +
                                                 2 * vocabulary * hidden + 2 * tokens * hidden);
}

TEST_CASE("chunks compute the head once more, the fused loss does not", "[memory]") {
  const Report plain = with_loss("plain", "bf16"), chunked = with_loss("chunked:4", "bf16"),
               fused = with_loss("fused", "bf16");
  const Flops head = Flops(2) * (tokens * vocabulary * hidden);
  CHECK(plain.flops->model == chunked.flops->model);
  CHECK(plain.flops->model == fused.flops->model);
  CHECK(chunked.flops->hardware == plain.flops->hardware + head);
  CHECK(fused.flops->hardware == plain.flops->hardware);
}

TEST_CASE("forms of the loss that make no sense are refused", "[memory]") {
  CHECK_THROWS_AS(with_loss("chunked:0", "bf16"), Error);
  CHECK_THROWS_AS(with_loss("chunked:100000", "bf16"), Error);
  CHECK_THROWS_AS(with_loss("chunked", "bf16"), Error);
}
