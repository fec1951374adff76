// Which tensors are this big.
#include "core/size_search.hpp"
#include "core/resolve.hpp"
#include "tests/catch.hpp"
#include "tests/support/estimates.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

constexpr Count mib = Count{1} << 20;

SizeAnswer find(Bytes size, double tolerance) {
  static const ModelSource model =
      model_from_json(R"({"model_type": "llama", "hidden_size": 7168, "intermediate_size": 20480,
    "num_hidden_layers": 60, "num_attention_heads": 56, "num_key_value_heads": 8, "vocab_size": 64000,
    "tie_word_embeddings": false})");
  RunOptions options;
  options.batch = 1;
  options.seq = 2048;
  options.precision = "bf16";
  options.attention = "eager";
  return find_size(size, tolerance, *model.model, resolve(options, model, nullptr).plan, 12);
}

bool has(const SizeAnswer& answer, const Dims& shape, DType dtype) {
  for (const SizeMatch& match : answer.matches)
    if (match.tensors.size() == 1 && match.tensors.front().shape == shape && match.tensors.front().dtype == dtype)
      return true;
  return false;
}

}  // namespace

TEST_CASE("896 MiB are the scores of 56 heads in float32", "[memory]") {
  const SizeAnswer answer = find(Bytes(896 * mib), 0);  // 56 x 2048 x 2048 x 4 B
  REQUIRE_FALSE(answer.near);
  CHECK(has(answer, {1, 56, 2048, 2048}, DType::float32));
  for (const SizeMatch& match : answer.matches) CHECK(match.bytes == Bytes(896 * mib));
}

TEST_CASE("weights, and the same weight of every layer", "[memory]") {
  CHECK(has(find(Bytes(Count{2} * 64000 * 7168), 0), {64000, 7168}, DType::bfloat16));
  const SizeAnswer all = find(Bytes(Count{60} * 2 * 20480 * 7168), 0);
  REQUIRE_FALSE(all.near);
  CHECK(all.matches.front().tensors.front().count == 60);
}

TEST_CASE("a sum of two, a rounded figure, and nothing", "[memory]") {
  // Scores in float32 and one head's weight.
  const SizeAnswer sum = find(Bytes(896 * mib + Count{2} * 64000 * 7168), 0);
  REQUIRE_FALSE(sum.near);
  CHECK(sum.matches.front().tensors.size() == 2);
  CHECK_FALSE(find(Bytes(895 * mib), 0.01).near);
  const SizeAnswer nothing = find(Bytes(7), 0);
  CHECK(nothing.near);
  CHECK(nothing.matches.size() == 3);
}
