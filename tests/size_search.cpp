// Which tensors are this big.
#include "core/size_search.hpp"

#include <algorithm>

#include "core/resolve.hpp"
#include "tests/catch.hpp"
#include "tests/support/estimates.hpp"
#include "tests/support/jobs.hpp"

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

bool has(const SizeAnswer& answer, const Dims& shape, DType dtype, Count count = 1) {
  return std::any_of(answer.matches.begin(), answer.matches.end(), [&](const SizeMatch& match) {
    const SizedTensor& tensor = match.tensors.front();
    return match.tensors.size() == 1 && tensor.shape == shape && tensor.dtype == dtype && tensor.count == count;
  });
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

TEST_CASE("sizes users met in \"tried to allocate\"", "[memory]") {
  const auto first = [](const char* id, Bytes size, double tolerance, const std::vector<GivenOption>& options) {
    const ModelSource model = built_in_model(id);
    const SizeAnswer answer =
        find_size(size, tolerance, *model.model, resolve(options_of(options), model, nullptr).plan, 12);
    REQUIRE_FALSE(answer.near);
    CHECK(answer.matches.front().tensors.size() == 1);
    CHECK(answer.matches.front().tensors.front().count == 1);
    return answer.matches.front().tensors.front();
  };
  // 172.00 MiB, Llama-2-7B (duowuyms/NetLLM #11): 11008 x 4096 in float32.
  CHECK(elements(first("llama-2-7b", Bytes(172 * mib), 0, {{"seq", "512"}}).shape) == 11008 * 4096);
  // 448.00 MiB, Llama-2-70B (meta-llama/llama #918): 28672 x 8192 in 16 bits.
  CHECK(elements(first("llama-2-70b", Bytes(448 * mib), 0, {{"precision", "bf16"}, {"seq", "512"}}).shape) ==
        28672 * 8192);
  // 11.74 GiB, Llama 3.1 8B (AMD-AGI/Primus #349): logits of three sequences of 8192 in float32.
  const SizedTensor logits = first("llama-3-8b", Bytes(static_cast<Count>(11.74 * 1024) * mib), 0.0005,
                                   {{"precision", "bf16"}, {"batch", "3"}, {"seq", "8192"}});
  CHECK(elements(logits.shape) == Count{3} * 8192 * 128256);
  CHECK(logits.dtype == DType::float32);
}

TEST_CASE("an allocator rounds what it asks for", "[memory]") {
  // Logits of 1001 tokens: 32000 x 1001 x 4 B are 122.2 MiB, for which 124 MiB are asked.
  const ModelSource model = built_in_model("llama-2-7b");
  const StepPlan plan = resolve(options_of({{"seq", "1001"}, {"precision", "bf16"}}), model, nullptr).plan;
  const SizeAnswer answer = find_size(Bytes(124 * mib), 0, *model.model, plan, 12);
  REQUIRE_FALSE(answer.near);
  CHECK(answer.matches.front().as_segment);
  CHECK(answer.matches.front().bytes == Bytes(Count{32000} * 1001 * 4));
}

TEST_CASE("one tensor of every layer is counted once a layer", "[memory]") {
  // 60 layers keep their input: 2048 x 7168 x 2 B, 28 MiB each.
  const SizeAnswer answer = find(Bytes(Count{60} * 28 * mib), 0);
  REQUIRE_FALSE(answer.near);
  CHECK(has(answer, {1, 2048, 7168}, DType::bfloat16, 60));
  for (const SizeMatch& match : answer.matches)
    if (match.tensors.size() == 1) CHECK((match.tensors.front().count == 1 || match.tensors.front().count == 60));
}

TEST_CASE("other options that nobody gave are tried where nothing is that big", "[memory]") {
  const ModelSource model = built_in_model("llama-2-7b");
  // Scores of 32 heads, 2048 x 2048, in float32: 512 MiB.
  const std::vector<SizeElsewhere> found =
      find_size_elsewhere(Bytes(512 * mib), 0, model, options_of({{"seq", "2048"}}), 3);
  REQUIRE_FALSE(found.empty());
  CHECK(found.front().options == "--attention eager");
  CHECK(found.front().tensor.shape == Dims{1, 32, 2048, 2048});
  CHECK(find_size_elsewhere(Bytes(7), 0, model, options_of({{"seq", "2048"}, {"batch", "1"}}), 3).empty());
}
