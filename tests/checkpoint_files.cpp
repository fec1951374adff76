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
  const std::string misplaced = "'a' is not described by one dtype, one shape and two data_offsets";
  for (const char* entry :
       {R"("dtype":"F32","shape":[4])", R"("shape":[4],"data_offsets":[0,16])",
        R"("dtype":"F32","data_offsets":[0,16])", R"("dtype":"F32","dtype":"F32")", R"("dtype":["F32"])",
        R"("dtype":5)", R"("shape":"4")", R"("shape":[[4]])", R"("shape":[4],"shape":[4])", R"("shape":{"0":4})",
        R"("data_offsets":[0,16.5])", R"("data_offsets":[0,16],"data_offsets":[0,16])", R"("data_offsets":[null])",
        R"("data_offsets":16)"}) {
    INFO(entry);
    CHECK_THAT(header_refusal(R"({"a":{)" + std::string(entry) + "}}", 16), ContainsSubstring(misplaced));
  }
  CHECK_THAT(header_refusal(R"({"a":{"strides":[1]}})", 0), ContainsSubstring("'a' has a key 'strides'; dtype, shape"));
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
  for (const char* wrong : {R"("a":null)", R"("a":["f"])", R"("a":{"b":"f"})", R"("a":true)", R"("a":-1)"}) {
    INFO(wrong);
    index(wrong);
    CHECK_THAT(load_refusal(folder.path()), ContainsSubstring("'a' is mapped to something else than a file"));
  }
  for (const char* name : {"", ".", "..", "/etc/passwd"}) {
    index(R"("a":")" + std::string(name) + "\"");
    CHECK_THAT(load_refusal(folder.path()), ContainsSubstring("'" + std::string(name) + "' is no name of a file"));
  }
}

TEST_CASE("checkpoint: an index beside what it says") {
  const Folder folder;
  write_safetensors(folder, "x.safetensors", {{"a", "F32", {4}}, {"b", "F32", {4}}});
  const auto index = [&](const std::string& text) { folder.write("model.safetensors.index.json", text); };
  index(R"({"weight_map":{"a":"x.safetensors"}})");
  CHECK_THAT(load_checkpoint(folder.path())->notes.at(0), ContainsSubstring("1 tensors are in the files and not in"));
  // Other keys may stand there, before the map and behind it, whatever they hold.
  index(R"({"metadata":[1,"y",{"weight_map":"z"}],"weight_map":{"a":"x.safetensors","b":"x.safetensors"},)"
        R"("more":["gone.safetensors"],"n":5})");
  CHECK(load_checkpoint(folder.path())->notes.empty());
  // Of many wrong entries the first are shown.
  std::string many;
  for (int i = 0; i < 7; ++i) many += (i ? "," : "") + ("\"t" + std::to_string(i)) + R"(":"x.safetensors")";
  index(R"({"weight_map":{)" + many + "}}");
  const std::string why = load_refusal(folder.path());
  CHECK_THAT(why, ContainsSubstring("says that 't4' is in 'x.safetensors', where it is not"));
  CHECK_THAT(why, ContainsSubstring("and 2 more of the kind"));
  CHECK_THAT(why, !ContainsSubstring("'t5'"));
}

TEST_CASE("checkpoint: GGUF files of a folder are one checkpoint, or refused") {
  const auto refused = [](const std::vector<std::string>& names) {
    const Folder folder;
    for (std::size_t i = 0; i < names.size(); ++i)
      folder.write(names[i], gguf_start(1, 0) + gguf_tensor("t" + std::to_string(i), {8}, f32, 0), 200);
    return refusal([&] { load_checkpoint(folder.path()); });
  };
  CHECK(refused({"whatever.gguf"}) == "accepted");
  CHECK(refused({"x-00001-of-00002.gguf", "x-00002-of-00002.gguf"}) == "accepted");
  // Two quantisations, pieces of two checkpoints, of different cuts, and names that only look like pieces.
  for (const std::vector<std::string>& names :
       std::vector<std::vector<std::string>>{{"x-q4.gguf", "x-q8.gguf"},
                                             {"x-00001-of-00002.gguf", "y-00002-of-00002.gguf"},
                                             {"x-00001-of-00002.gguf", "x-00001-of-00003.gguf"},
                                             {"x-00001-of-00002.gguf", "x.gguf"},
                                             {"x-0001a-of-00002.gguf", "x-00002-of-00002.gguf"},
                                             {"x-00001-of-0000b.gguf", "x-00002-of-0000b.gguf"},
                                             {"x00001-of-00002.gguf", "x00002-of-00002.gguf"},
                                             {"x-1-of-2.gguf", "x-2-of-2.gguf"},
                                             {"-of-00002.gguf", "x-00002-of-00002.gguf"}}) {
    INFO(names[0] << " " << names[1]);
    CHECK_THAT(refused(names), ContainsSubstring("holds several GGUF files") && ContainsSubstring(names[0]));
  }
}

TEST_CASE("GGUF: keys, tensors, quantised blocks") {
  const std::string head =
      gguf_start(2, 12) + gguf_key("general.architecture", 8, gguf_text("llama")) +
      gguf_key("x.half", 6, little_endian(0x3F000000, 4)) +          // 0.5 in binary32
      gguf_key("x-two", 12, little_endian(0x4000000000000000, 8)) +  // 2.0 in binary64
      gguf_key("x.min", 11, little_endian(std::uint64_t{1} << 63U, 8)) + gguf_key("x_no", 7, std::string(1, '\0')) +
      gguf_key("x.yes", 7, "\1") + gguf_key("x.byte", 1, "\xff") + gguf_key("x.short", 3, "\xfe\xff") +
      gguf_key("x.long_text", 8, gguf_text(std::string(201, 'a'))) +
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
  const std::vector<std::pair<std::string, std::string>> values{{"general.architecture", "llama"},
                                                                {"x.half", "0.500000"},
                                                                {"x-two", "2.000000"},
                                                                {"x.min", "-9223372036854775808"},
                                                                {"x_no", "false"},
                                                                {"x.yes", "true"},
                                                                {"x.byte", "-1"},
                                                                {"x.short", "-2"},
                                                                {"llama.block_count", "32"},
                                                                {"x.offset", "-1"}};
  CHECK(found.metadata == values);  // neither the long text nor the list
  CHECK_THAT(gguf_refusal(head, data + 864 + 27), ContainsSubstring("'n' ends after the file"));
}

TEST_CASE("GGUF: lies are refused") {
  const std::string tensor = gguf_tensor("a", {8}, f32, 0), zeros(200, '\0');
  CHECK_THAT(gguf_refusal("GGML" + zeros), ContainsSubstring("no GGUF file"));
  CHECK_THAT(gguf_refusal("GGUF" + little_endian(1, 4) + zeros), ContainsSubstring("version 1; 2 and 3 are read"));
  for (const std::uint64_t version : {0x02000000U, 0x03000000U})
    CHECK_THAT(gguf_refusal("GGUF" + little_endian(version, 4) + zeros), ContainsSubstring("big-endian"));
  CHECK_THAT(gguf_refusal(gguf_start(0, 1000) + zeros), ContainsSubstring("has no room for the 1000 keys"));
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
  CHECK_THAT(one(gguf_tensor("a", {std::uint64_t{1} << 63U}, f32, 0)), ContainsSubstring("an impossible dimension"));
  CHECK_THAT(one(gguf_tensor("a", {128, 2}, q4_k, 0)), ContainsSubstring("no whole blocks of Q4_K"));  // 256 in all
  CHECK_THAT(one(gguf_tensor("a", {8}, f32, 32)), ContainsSubstring("leaves a gap"));
  CHECK_THAT(one(gguf_tensor(std::string(65, 'a'), {8}, f32, 0)), ContainsSubstring("at most 64"));
  CHECK_THAT(one(gguf_tensor("\xff", {8}, f32, 0)), ContainsSubstring("not UTF-8"));
  CHECK_THAT(gguf_refusal(gguf_start(2, 0) + tensor + gguf_tensor("b", {8}, f32, 0) + zeros),
             ContainsSubstring("overlaps the one before"));
  CHECK_THAT(gguf_refusal(gguf_start(2, 0) + tensor + gguf_tensor("a", {8}, f32, 32) + zeros),
             ContainsSubstring("the tensor 'a' stands in the header twice"));
  for (const std::string& alignment :
       {gguf_key("general.alignment", 4, little_endian(0, 4)), gguf_key("general.alignment", 4, little_endian(12, 4)),
        gguf_key("general.alignment", 10, little_endian(32, 8))})
    CHECK_THAT(gguf_refusal(gguf_start(0, 1) + alignment),
               ContainsSubstring("general.alignment must be a multiple of 8"));
  // An array of an array of ... 5 deep, and a header that goes on for more than 256 MiB of a larger file.
  std::string nested = gguf_text("a") + little_endian(9, 4);
  for (int depth = 0; depth < 4; ++depth) nested += little_endian(9, 4) + little_endian(1, 8);
  CHECK_THAT(gguf_refusal(gguf_start(0, 1) + nested + zeros), ContainsSubstring("is nested more than 4 deep"));
  CHECK_THAT(gguf_refusal(gguf_start(0, 1) + gguf_key("a", 8, little_endian(std::uint64_t{1} << 28U, 8)),
                          std::uint64_t{1} << 30U),
             ContainsSubstring("takes the header beyond 256 MiB; that is no model's"));
}

TEST_CASE("GGUF: an array that would make a small machine work for hours") {
  // 2^36 empty texts in a file that is one hole of a terabyte.
  const Folder folder;
  const std::string head = gguf_start(0, 1) + gguf_text("a") + little_endian(9, 4) + little_endian(8, 4) +
                           little_endian(std::uint64_t{1} << 36U, 8);
  CHECK_THAT(load_refusal(folder.write("x.gguf", head, std::uint64_t{1} << 40U)),
             ContainsSubstring("goes past the end"));
}
