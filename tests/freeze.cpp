// --freeze: the tensors of a part, whatever a family calls them. Counts are of the configurations, by hand.
#include "tests/catch.hpp"
#include "tests/support/estimates.hpp"
#include "tests/support/jobs.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

Count frozen(const std::string& model, const std::string& part) {
  const Report report = estimated(built_in_model(model), {{"batch", "1"}, {"seq", "16"}, {"freeze", part}});
  return report.parameters.total - report.parameters.trainable;
}

}  // namespace

TEST_CASE("attention is its projections, not the norms that are named after it", "[adapters]") {
  // Llama 3 8B: 32 layers of q and o (4096 x 4096) and k and v (1024 x 4096).
  CHECK(frozen("llama-3-8b", "attention") == 32 * (2 * 4096 * 4096 + 2 * 1024 * 4096));
  // OPT has a self_attn_layer_norm beside four projections with biases.
  CHECK(frozen("opt-125m", "attention") == 12 * 4 * (768 * 768 + 768));
  // T5: 6 layers of one attention and 6 of two, 512 wide, and two tables of 32 x 8 biases.
  CHECK(frozen("t5-small", "attention") == 18 * 4 * 512 * 512 + 2 * 32 * 8);
}

TEST_CASE("an MLP is one under every name", "[adapters]") {
  CHECK(frozen("llama-3-8b", "mlp") == Count{32} * 3 * 4096 * 14336);
  CHECK(frozen("bert-base-uncased", "mlp") == 12 * (2 * 768 * 3072 + 3072 + 768));
  CHECK(frozen("opt-125m", "mlp") == 12 * (2 * 768 * 3072 + 3072 + 768));
  CHECK(frozen("t5-small", "mlp") == 12 * 2 * 512 * 2048);
  CHECK(frozen("mixtral-8x7b", "mlp") == Count{32} * (8 * 3 * 4096 * Count{14336} + 8 * 4096));
}

TEST_CASE("norms are those of every spelling", "[adapters]") {
  // BERT: after the embeddings, twice in each of 12 layers, before the head; weight and bias.
  CHECK(frozen("bert-base-uncased", "norms") == (1 + 2 * 12 + 1) * 2 * 768);
  // T5: two in an encoder layer, three in a decoder layer, one at the end of each.
  CHECK(frozen("t5-small", "norms") == (6 * 2 + 1 + 6 * 3 + 1) * 512);
  CHECK(frozen("gpt2", "norms") == (2 * 12 + 1) * 2 * 768);
}
