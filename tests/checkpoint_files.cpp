// The headers of safetensors and GGUF files: what is read, and that every kind of lie is refused with what and where.
#include <sstream>

#include "core/diagnostics.hpp"
#include "read/checkpoint.hpp"
#include "read/gguf.hpp"
#include "read/safetensors.hpp"
#include "tests/catch.hpp"
#include "tests/support/checkpoint_files.hpp"
#include "tests/support/refusal.hpp"

using namespace llmcalc;
using namespace llmcalc::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Of a safetensors header, with so many bytes of data behind it.
std::string header_refusal(const std::string& header, std::uint64_t data) {
  return refusal([&] {
    std::istringstream in(with_length(header));
    Checkpoint found;
    read_safetensors(in, 8 + header.size() + data, "x.safetensors", found);
  });
}

std::string gguf_refusal(const std::string& text, std::uint64_t size = 0) {
  return refusal([&] {
    std::istringstream in(text);
    Checkpoint found;
    read_gguf(in, size ? size : text.size(), "x.gguf", found);
  });
}

std::string load_refusal(const std::string& path) {
  return refusal([&] { load_checkpoint(path); });
}

constexpr std::uint64_t f32 = 0, q4_k = 12;

}  // namespace

TEST_CASE("safetensors: names, types, shapes and bytes, whatever the order") {
  std::istringstream in(with_length(
      R"({"b":{"shape":[3],"dtype":"BF16","data_offsets":[8,14]},"a":{"dtype":"F4","shape":[4,4],"data_offsets":[0,8]},)"
      R"("__metadata__":{"format":"pt"},"s":{"dtype":"I64","shape":[],"data_offsets":[14,22]}}   )"));
  Checkpoint found;
  read_safetensors(in, in.str().size() + 22, "x", found);
  REQUIRE(found.tensors.size() == 3);
  CHECK(found.tensors[0].name == "b");
  CHECK(found.tensors[0].type->dtype == DType::bfloat16);
  CHECK(found.tensors[1].bytes == Bytes(8));  // 16 elements of 4 bits
  CHECK(found.tensors[1].shape == Dims{4, 4});
  CHECK(found.tensors[2].shape.rank() == 0);
  CHECK(found.metadata.at(0).second == "pt");
}

TEST_CASE("safetensors: what the format's own library refuses is refused") {
  const auto one = [](const std::string& shape, const std::string& offsets) {
    return R"({"a.weight":{"dtype":"F32","shape":[)" + shape + R"(],"data_offsets":[)" + offsets + "]}}";
  };
  CHECK(header_refusal(one("2,2", "0,16"), 16) == "accepted");
  CHECK_THAT(header_refusal(one("2,2", "0,16"), 15), ContainsSubstring("'a.weight' ends at byte 16") &&
                                                         ContainsSubstring("which has 15") &&
                                                         ContainsSubstring("x.safetensors: error"));
  CHECK_THAT(header_refusal(one("2,2", "0,16"), 17), ContainsSubstring("1 bytes at its end belong to no tensor"));
  CHECK_THAT(header_refusal(one("2,2", "4,20"), 20), ContainsSubstring("leaves a gap before it"));
  CHECK_THAT(header_refusal(one("2,2", "16,0"), 16), ContainsSubstring("ends before it begins"));
  CHECK_THAT(header_refusal(one("2,3", "0,16"), 16),
             ContainsSubstring("shape (2, 3) needs 24 bytes; its data_offsets give it 16"));
  CHECK_THAT(header_refusal(one("4294967296,4294967296", "0,16"), 16), ContainsSubstring("more bytes than can be"));
  CHECK_THAT(header_refusal(one("4611686018427387904", "0,0"), 0), ContainsSubstring("more bytes than can be counted"));
  CHECK_THAT(header_refusal(one("9223372036854775808", "0,16"), 16), ContainsSubstring("an impossible dimension"));
  CHECK_THAT(header_refusal(one("18446744073709551616", "0,16"), 16), ContainsSubstring("sizes whole"));
  CHECK_THAT(header_refusal(one("-4", "0,16"), 16), ContainsSubstring("at least 0"));
  CHECK_THAT(header_refusal(one("1,1,1,1,1,1,1,1,4", "0,16"), 16), ContainsSubstring("more than 8 dimensions"));
  CHECK_THAT(header_refusal(one("4", "0,16,16"), 16), ContainsSubstring("two data_offsets"));
  CHECK_THAT(header_refusal(R"({"a":{"dtype":"F33","shape":[4],"data_offsets":[0,16]}})", 16),
             ContainsSubstring("unknown type 'F33'"));
  CHECK_THAT(header_refusal(R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", 2),
             ContainsSubstring("a fraction of a byte"));
  const std::string a = R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  CHECK_THAT(header_refusal("{" + a + R"(,"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})", 6),
             ContainsSubstring("'b' overlaps the tensor before it: it begins at byte 2"));
  CHECK_THAT(header_refusal("{" + a + R"(,"a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})", 8),
             ContainsSubstring("'a' stands in the header twice"));
  CHECK_THAT(header_refusal("{\"\xff\":1}", 0), ContainsSubstring("not valid JSON"));
  CHECK_THAT(header_refusal("{" + a, 4), ContainsSubstring("not valid JSON at its byte"));
  CHECK_THAT(header_refusal("[]", 0), ContainsSubstring("must begin with '{'"));
  CHECK_THAT(header_refusal(R"({"a":1})", 0), ContainsSubstring("'a' is not described by"));
  CHECK_THAT(header_refusal(R"({"__metadata__":{"a":[]}})", 0), ContainsSubstring("something other than text"));
  CHECK_THAT(header_refusal(std::string(100'000, '{'), 0), ContainsSubstring("JSON"));
}

TEST_CASE("safetensors: a length that cannot be") {
  const Folder folder;
  const auto of = [&](const std::string& text, std::uint64_t size = 0) {
    return load_refusal(folder.write("x.safetensors", text, size));
  };
  CHECK_THAT(of(""), ContainsSubstring("shorter than the 8 bytes"));
  CHECK_THAT(of(little_endian(std::uint64_t{1} << 63U, 8) + "{}"), ContainsSubstring("9223372036854775808 bytes"));
  CHECK_THAT(of(little_endian(100'000'001, 8), 200'000'000), ContainsSubstring("the format allows 100,000,000"));
  CHECK_THAT(of(little_endian(50, 8) + "{}"), ContainsSubstring("ends after the file, which has 10"));
  CHECK_THAT(load_refusal(folder.path("none.safetensors")), ContainsSubstring("not a file"));
}

TEST_CASE("checkpoint: the files of a folder") {
  const Folder folder;
  CHECK_FALSE(load_checkpoint(folder.path()).has_value());
  const TestTensor a{"a", "F32", {4}}, b{"b", "BF16", {8}};
  write_safetensors(folder, "model-00001-of-00002.safetensors", {a});
  CHECK_FALSE(load_checkpoint(folder.path())->complete);
  write_safetensors(folder, "model-00002-of-00002.safetensors", {b});
  CHECK(load_checkpoint(folder.path())->complete);
  CHECK(load_checkpoint(folder.path())->tensors.size() == 2);
  write_safetensors(folder, "consolidated.safetensors", {a});
  CHECK_THAT(load_refusal(folder.path()), ContainsSubstring("'a' is in two files"));

  const auto index = [&](const std::string& map) {
    folder.write("model.safetensors.index.json", R"({"metadata":{"total_size":32},"weight_map":{)" + map + "}}");
  };
  index(R"("a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors")");
  const Checkpoint found = *load_checkpoint(folder.path());
  CHECK(found.files.size() == 2);
  CHECK_THAT(found.notes.at(0), ContainsSubstring("consolidated.safetensors"));
  index(R"("a":"model-00002-of-00002.safetensors","b":"model-00002-of-00002.safetensors")");
  CHECK_THAT(load_refusal(folder.path()), ContainsSubstring("says that 'a' is in 'model-00002-of-00002.safetensors'"));
  index(R"("a":"gone.safetensors")");
  CHECK_THAT(load_refusal(folder.path()), ContainsSubstring("names 'gone.safetensors', which is not in this folder"));
  index(R"("a":"../gone.safetensors")");
  CHECK_THAT(load_refusal(folder.path()), ContainsSubstring("no name of a file in this folder"));
  index(R"("a":5)");
  CHECK_THAT(load_refusal(folder.path()), ContainsSubstring("'a' is mapped to something else"));
  index("");
  CHECK_THAT(load_refusal(folder.path()), ContainsSubstring("has no weight_map"));
}

TEST_CASE("GGUF: keys, tensors, quantised blocks") {
  const std::string head =
      gguf_start(2, 4) + gguf_key("general.architecture", 8, gguf_text("llama")) +
      gguf_key("llama.block_count", 4, little_endian(32, 4)) + gguf_key("x.offset", 5, little_endian(0xFFFFFFFF, 4)) +
      gguf_key("t.tokens", 9, little_endian(8, 4) + little_endian(2, 8) + gguf_text("a") + gguf_text("bc")) +
      gguf_tensor("q", {512, 3}, q4_k, 0) + gguf_tensor("n", {7}, f32, 864);
  // 1536 elements in 6 blocks of 144 bytes: 864, a multiple of 32.
  const std::uint64_t data = (head.size() + 31) / 32 * 32;
  std::istringstream in(head);
  Checkpoint found;
  read_gguf(in, data + 864 + 28, "x", found);
  REQUIRE(found.tensors.size() == 2);
  CHECK(found.tensors[0].shape == Dims{3, 512});
  CHECK(found.tensors[0].bytes == Bytes(864));
  CHECK(found.tensors[1].bytes == Bytes(28));
  REQUIRE(found.metadata.size() == 3);
  CHECK(found.metadata[1] == std::pair<std::string, std::string>("llama.block_count", "32"));
  CHECK(found.metadata[2].second == "-1");
  CHECK_THAT(gguf_refusal(head, data + 864 + 27), ContainsSubstring("'n' ends after the file"));
}

TEST_CASE("GGUF: lies are refused") {
  const std::string tensor = gguf_tensor("a", {8}, f32, 0), zeros(200, '\0');
  CHECK_THAT(gguf_refusal("GGML" + zeros), ContainsSubstring("no GGUF file"));
  CHECK_THAT(gguf_refusal("GGUF" + little_endian(1, 4) + zeros), ContainsSubstring("version 1; 2 and 3 are read"));
  CHECK_THAT(gguf_refusal("GGUF" + little_endian(0x03000000, 4) + zeros), ContainsSubstring("big-endian"));
  CHECK_THAT(gguf_refusal("GGUF"), ContainsSubstring("the version at byte 4 goes past the end"));
  const std::uint64_t huge = std::uint64_t{1} << 60U;
  CHECK_THAT(gguf_refusal(gguf_start(huge, 0)), ContainsSubstring("1152921504606846976 tensors; that is no model's"));
  CHECK_THAT(gguf_refusal(gguf_start(0, huge)), ContainsSubstring("that is no model's"));
  CHECK_THAT(gguf_refusal(gguf_start(1000, 0) + tensor), ContainsSubstring("has no room for the 1000 tensors"));
  CHECK_THAT(gguf_refusal(gguf_start(0, 1) + little_endian(huge, 8) + zeros), ContainsSubstring("a key at byte 32"));
  CHECK_THAT(gguf_refusal(gguf_start(0, 1) + gguf_key("A b", 4, little_endian(1, 4))), ContainsSubstring("'A b'"));
  CHECK_THAT(gguf_refusal(gguf_start(0, 1) + gguf_key("a", 13, zeros)), ContainsSubstring("the unknown type 13"));
  CHECK_THAT(gguf_refusal(gguf_start(0, 1) + gguf_key("a", 7, "\2")), ContainsSubstring("neither true nor false"));
  CHECK_THAT(gguf_refusal(gguf_start(0, 1) + gguf_key("a", 9, little_endian(4, 4) + little_endian(huge, 8))),
             ContainsSubstring("the array 'a' of 1152921504606846976 values"));
  const std::string key = gguf_key("a", 0, "\1");
  CHECK_THAT(gguf_refusal(gguf_start(0, 2) + key + key), ContainsSubstring("the key 'a' stands in the header twice"));
  const auto one = [&](const std::string& t) { return gguf_refusal(gguf_start(1, 0) + t + zeros); };
  CHECK(one(tensor) == "accepted");
  CHECK_THAT(one(gguf_tensor("a", {8}, 4, 0)), ContainsSubstring("the unknown type 4"));  // Q4_2, removed long ago
  CHECK_THAT(one(gguf_tensor("a", {1, 1, 1, 1, 1}, f32, 0)), ContainsSubstring("5 dimensions"));
  CHECK_THAT(one(gguf_tensor("a", {huge, 1024}, f32, 0)), ContainsSubstring("more bytes than can be counted"));
  CHECK_THAT(one(gguf_tensor("a", {128, 2}, q4_k, 0)), ContainsSubstring("no whole blocks of Q4_K"));  // 256 in all
  CHECK_THAT(one(gguf_tensor("a", {8}, f32, 32)), ContainsSubstring("leaves a gap"));
  CHECK_THAT(one(gguf_tensor(std::string(65, 'a'), {8}, f32, 0)), ContainsSubstring("at most 64"));
  CHECK_THAT(one(gguf_tensor("\xff", {8}, f32, 0)), ContainsSubstring("not UTF-8"));
  CHECK_THAT(gguf_refusal(gguf_start(2, 0) + tensor + gguf_tensor("b", {8}, f32, 0) + zeros),
             ContainsSubstring("overlaps the one before"));
  CHECK_THAT(gguf_refusal(gguf_start(2, 0) + tensor + gguf_tensor("a", {8}, f32, 32) + zeros),
             ContainsSubstring("the tensor 'a' stands in the header twice"));
  CHECK_THAT(gguf_refusal(gguf_start(0, 1) + gguf_key("general.alignment", 4, little_endian(0, 4))),
             ContainsSubstring("general.alignment must be a multiple of 8"));
}

TEST_CASE("GGUF: an array that would make a small machine work for hours") {
  // 2^36 empty texts in a file that is one hole of a terabyte.
  const Folder folder;
  const std::string head = gguf_start(0, 1) + gguf_text("a") + little_endian(9, 4) + little_endian(8, 4) +
                           little_endian(std::uint64_t{1} << 36U, 8);
  CHECK_THAT(load_refusal(folder.write("x.gguf", head, std::uint64_t{1} << 40U)),
             ContainsSubstring("goes past the end"));
}
