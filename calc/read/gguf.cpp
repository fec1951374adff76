#include "read/gguf.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "core/suggest.hpp"
#include "read/text.hpp"
#include "read/tree.hpp"

namespace llmcalc {
namespace {

constexpr std::uint64_t largest_header = std::uint64_t{256} << 20U;  // bytes; vocabularies have a few MiB
constexpr std::size_t longest_name = 64, longest_key = 65535;        // bytes; the format's own limits
constexpr std::size_t longest_kept = 200;                            // bytes of a value that is kept
constexpr std::uint64_t most_keys = 100'000, most_tensors = 1'000'000;
constexpr std::uint64_t deepest = 4;          // arrays of arrays
constexpr std::uint32_t most_dimensions = 4;  // the format's own limit

struct NumberedType {
  std::uint32_t number;
  StoredType type;
};

// ggml's tensor types that files have (ggml.h, ggml-common.h): elements of a block and its bits.
constexpr std::array<NumberedType, 30> types{{
    {0, {"F32", 1, 32, DType::float32}},
    {1, {"F16", 1, 16, DType::float16}},
    {2, {"Q4_0", 32, 18 * 8, std::nullopt}},
    {3, {"Q4_1", 32, 20 * 8, std::nullopt}},
    {6, {"Q5_0", 32, 22 * 8, std::nullopt}},
    {7, {"Q5_1", 32, 24 * 8, std::nullopt}},
    {8, {"Q8_0", 32, 34 * 8, std::nullopt}},
    {10, {"Q2_K", 256, 84 * 8, std::nullopt}},
    {11, {"Q3_K", 256, 110 * 8, std::nullopt}},
    {12, {"Q4_K", 256, 144 * 8, std::nullopt}},
    {13, {"Q5_K", 256, 176 * 8, std::nullopt}},
    {14, {"Q6_K", 256, 210 * 8, std::nullopt}},
    {16, {"IQ2_XXS", 256, 66 * 8, std::nullopt}},
    {17, {"IQ2_XS", 256, 74 * 8, std::nullopt}},
    {18, {"IQ3_XXS", 256, 98 * 8, std::nullopt}},
    {19, {"IQ1_S", 256, 50 * 8, std::nullopt}},
    {20, {"IQ4_NL", 32, 18 * 8, std::nullopt}},
    {21, {"IQ3_S", 256, 110 * 8, std::nullopt}},
    {22, {"IQ2_S", 256, 82 * 8, std::nullopt}},
    {23, {"IQ4_XS", 256, 136 * 8, std::nullopt}},
    {24, {"I8", 1, 8, DType::int8}},
    {25, {"I16", 1, 16, DType::int16}},
    {26, {"I32", 1, 32, DType::int32}},
    {27, {"I64", 1, 64, DType::int64}},
    {28, {"F64", 1, 64, DType::float64}},
    {29, {"IQ1_M", 256, 56 * 8, std::nullopt}},
    {30, {"BF16", 1, 16, DType::bfloat16}},
    {34, {"TQ1_0", 256, 54 * 8, std::nullopt}},
    {35, {"TQ2_0", 256, 66 * 8, std::nullopt}},
    {39, {"MXFP4", 32, 17 * 8, std::nullopt}},
}};

// What a value of a key is; the numbers are the format's.
enum class Kind : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };
constexpr std::array<std::uint64_t, 13> bytes_of{1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};  // of a text, array: at least

class Reader {
 public:
  Reader(std::istream& in, std::uint64_t size, const std::string& file)
      : in_(in), size_(size), limit_(std::min(size, largest_header)), file_(file) {}

  [[noreturn]] void refuse(const std::string& what) const { syntax_error(file_, 0, 0, what); }

  std::uint64_t at() const { return at_; }
  std::uint64_t left() const { return limit_ - at_; }

  // So many bytes are there to be read: `what` they are, for the message.
  void need(std::uint64_t bytes, const std::string& what) const {
    if (bytes <= left()) return;
    const std::string where = what + " at byte " + std::to_string(at_);
    if (bytes <= size_ - at_) refuse(where + " takes the header beyond 256 MiB; that is no model's");
    refuse(where + " goes past the end of the file, which has " + std::to_string(size_) + " bytes; it is cut short");
  }

  template <class T>
  T number(const char* what) {
    need(sizeof(T), what);
    std::array<char, sizeof(T)> bytes{};
    if (!in_.read(bytes.data(), sizeof(T))) refuse(std::string(what) + " cannot be read");
    at_ += sizeof(T);
    std::uint64_t value = 0;  // little-endian, whatever this machine is
    for (std::size_t i = sizeof(T); i-- > 0;) value = value << 8U | static_cast<unsigned char>(bytes[i]);
    return static_cast<T>(value);
  }

  // A length and so many bytes of UTF-8.
  std::string text(std::uint64_t longest, const char* what) {
    const auto length = number<std::uint64_t>(what);
    need(length, what);
    if (length > longest)
      refuse(std::string(what) + " at byte " + std::to_string(at_) + " has " + std::to_string(length) +
             " bytes; at most " + std::to_string(longest) + " are allowed");
    return text_of(length, what);
  }

  std::string text_of(std::uint64_t length, const char* what) {
    std::string text(length, '\0');
    if (!in_.read(text.data(), static_cast<std::streamsize>(length))) refuse(std::string(what) + " cannot be read");
    at_ += length;
    if (!is_utf8(text)) refuse(std::string(what) + " " + in_quotes(text) + " is not UTF-8");
    return text;
  }

  void skip(std::uint64_t bytes, const char* what) {
    need(bytes, what);
    if (!in_.ignore(static_cast<std::streamsize>(bytes))) refuse(std::string(what) + " cannot be read");
    at_ += bytes;
  }

 private:
  std::istream& in_;
  std::uint64_t size_, limit_, at_ = 0;
  const std::string& file_;
};

double as_float(std::uint64_t bits, Kind kind) {
  if (kind == Kind::f64) {
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  const auto low = static_cast<std::uint32_t>(bits);
  float value = 0;
  std::memcpy(&value, &low, sizeof value);
  return static_cast<double>(value);
}

// "general.architecture", as the format wants keys: words of small letters, digits and _, with points between.
bool is_key(const std::string& key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
  });
}

class Header {
 public:
  Header(Reader& reader, Checkpoint& into) : r_(reader), into_(into), first_(into.tensors.size()) {}

  void read(std::uint64_t file_size) {
    if (r_.number<std::uint32_t>("the magic number") != 0x46554747U)
      r_.refuse("is no GGUF file: it must begin with GGUF");
    const auto version = r_.number<std::uint32_t>("the version");
    if (version != 2 && version != 3) {
      const bool swapped = version == 0x02000000U || version == 0x03000000U;
      r_.refuse(swapped ? "is a big-endian GGUF file; only little-endian ones are read"
                        : "is GGUF version " + std::to_string(version) + "; 2 and 3 are read");
    }
    constexpr std::uint64_t least_tensor = 8 + 4 + 4 + 8, least_key = 8 + 4 + 1;  // bytes
    const auto tensors = r_.number<std::uint64_t>("the number of tensors");
    const auto keys = r_.number<std::uint64_t>("the number of keys");
    if (keys > most_keys || tensors > most_tensors)
      r_.refuse("announces " + std::to_string(keys) + " keys and " + std::to_string(tensors) +
                " tensors; that is no model's");
    if (keys > r_.left() / least_key) r_.refuse("has no room for the " + std::to_string(keys) + " keys it announces");
    for (std::uint64_t i = 0; i < keys; ++i) read_key();
    if (tensors > r_.left() / least_tensor)
      r_.refuse("has no room for the " + std::to_string(tensors) + " tensors it announces");
    for (std::uint64_t i = 0; i < tensors; ++i) read_tensor();
    check_names(std::move(keys_), "the key");
    check_places(file_size);
  }

 private:
  void read_key() {
    const std::string key = r_.text(longest_key, "a key");
    if (!is_key(key)) r_.refuse("the key " + in_quotes(key) + " is none the format allows");
    keys_.push_back(key);
    const Kind kind = read_kind(key);
    if (kind == Kind::array) {
      skip_array(key, 1);
    } else if (kind == Kind::text) {
      const auto length = r_.number<std::uint64_t>("the length of a value");
      r_.need(length, "the value of " + in_quotes(key));
      if (length > longest_kept) {
        r_.skip(length, "a value");
      } else {
        into_.metadata.emplace_back(key, r_.text_of(length, "a value"));
      }
    } else {
      read_number(key, kind);
    }
  }

  Kind read_kind(const std::string& key) {
    const auto kind = r_.number<std::uint32_t>("the type of a value");
    if (kind >= bytes_of.size())
      r_.refuse("the value of " + in_quotes(key) + " has the unknown type " + std::to_string(kind));
    return static_cast<Kind>(kind);
  }

  void read_number(const std::string& key, Kind kind) {
    std::uint64_t bits = 0;
    for (std::uint64_t i = 0; i < bytes_of[static_cast<std::size_t>(kind)]; ++i)
      bits |= static_cast<std::uint64_t>(r_.number<std::uint8_t>("a value")) << (8U * i);
    std::string shown;
    switch (kind) {
      case Kind::boolean:
        if (bits > 1) r_.refuse("the value of " + in_quotes(key) + " is neither true nor false");
        shown = bits == 1 ? "true" : "false";
        break;
      case Kind::f32:
      case Kind::f64: shown = std::to_string(as_float(bits, kind)); break;
      case Kind::i8: shown = std::to_string(static_cast<std::int8_t>(bits)); break;
      case Kind::i16: shown = std::to_string(static_cast<std::int16_t>(bits)); break;
      case Kind::i32: shown = std::to_string(static_cast<std::int32_t>(bits)); break;
      case Kind::i64: shown = std::to_string(static_cast<std::int64_t>(bits)); break;
      default: shown = std::to_string(bits);
    }
    if (key == "general.alignment") {
      if (kind != Kind::u32 || bits == 0 || bits % 8 != 0)
        r_.refuse("general.alignment must be a multiple of 8, not " + shown);
      alignment_ = bits;
    }
    if (key.size() <= longest_kept) into_.metadata.emplace_back(key, shown);
  }

  void skip_array(const std::string& key, std::uint64_t depth) {
    const Kind kind = read_kind(key);
    const auto length = r_.number<std::uint64_t>("the length of an array");
    const std::uint64_t least = bytes_of[static_cast<std::size_t>(kind)];
    if (length > r_.left() / least)
      r_.refuse("the array " + in_quotes(key) + " of " + std::to_string(length) +
                " values goes past the end of the header");
    if (kind == Kind::text) {
      for (std::uint64_t i = 0; i < length; ++i)
        r_.skip(r_.number<std::uint64_t>("the length of a text"), "a text of an array");
    } else if (kind == Kind::array) {
      if (depth == deepest) r_.refuse("the array " + in_quotes(key) + " is nested more than 4 deep");
      for (std::uint64_t i = 0; i < length; ++i) skip_array(key, depth + 1);
    } else {
      r_.skip(length * least, "an array");
    }
  }

  void read_tensor() {
    StoredTensor tensor{r_.text(longest_name, "the name of a tensor"), nullptr, {}, Bytes(0)};
    const std::string the_tensor = "the tensor " + in_quotes(tensor.name);
    const auto rank = r_.number<std::uint32_t>("a number of dimensions");
    if (rank > most_dimensions) r_.refuse(the_tensor + " has " + std::to_string(rank) + " dimensions; 4 are allowed");
    // The format has the fastest dimension first.
    std::vector<Count> dimensions;
    for (std::uint32_t i = 0; i < rank; ++i) {
      const auto length = r_.number<std::uint64_t>("a dimension");
      if (length > static_cast<std::uint64_t>(std::numeric_limits<Count>::max()))
        r_.refuse(the_tensor + " has an impossible dimension");
      dimensions.insert(dimensions.begin(), static_cast<Count>(length));
    }
    for (const Count length : dimensions) tensor.shape.push_back(length);
    const auto number = r_.number<std::uint32_t>("the type of a tensor");
    const auto type =
        std::find_if(types.begin(), types.end(), [&](const NumberedType& t) { return t.number == number; });
    if (type == types.end()) r_.refuse(the_tensor + " has the unknown type " + std::to_string(number));
    tensor.type = &type->type;
    std::optional<Bytes> bytes;
    try {
      const bool whole_rows = rank == 0 || tensor.shape.back() % type->type.elements_of_block == 0;
      if (whole_rows) bytes = stored_bytes(type->type, elements(tensor.shape));
    } catch (const Overflow&) {
      r_.refuse(the_tensor + " of shape " + to_string(tensor.shape) + " has more bytes than can be counted");
    }
    if (!bytes)
      r_.refuse(the_tensor + " of shape " + to_string(tensor.shape) + ": its rows are no whole blocks of " +
                std::string(type->type.name) + ", which take " + std::to_string(type->type.elements_of_block) +
                " elements");
    tensor.bytes = *bytes;
    begins_.push_back(r_.number<std::uint64_t>("the place of a tensor"));
    into_.tensors.push_back(std::move(tensor));
  }

  // Tensors follow one another, each at the next aligned place, in whatever order.
  void check_places(std::uint64_t file_size) {
    std::vector<std::size_t> order(begins_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto key = [&](std::size_t i) { return std::pair(begins_[i], into_.tensors[first_ + i].bytes.value()); };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    const auto aligned = [&](std::uint64_t place) { return (place + alignment_ - 1) / alignment_ * alignment_; };
    const std::uint64_t data = aligned(r_.at());
    std::vector<std::string> names;
    std::uint64_t next = 0;
    for (const std::size_t i : order) {
      const StoredTensor& tensor = into_.tensors[first_ + i];
      if (begins_[i] != next)
        r_.refuse("the tensor " + in_quotes(tensor.name) +
                  (begins_[i] < next ? " overlaps the one before it" : " leaves a gap before it") +
                  ": it begins at byte " + std::to_string(begins_[i]) + " of the data, where " + std::to_string(next) +
                  " is next");
      const auto bytes = static_cast<std::uint64_t>(tensor.bytes.value());
      if (data > file_size || bytes > file_size - data || next > file_size - data - bytes)
        r_.refuse("the tensor " + in_quotes(tensor.name) + " ends after the file, which has " +
                  std::to_string(file_size) + " bytes; it is cut short");
      next = aligned(next + bytes);
      names.push_back(tensor.name);
    }
    check_names(std::move(names), "the tensor");
  }

  void check_names(std::vector<std::string> names, const std::string& what) const {
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) r_.refuse(what + " " + in_quotes(*twice) + " stands in the header twice");
  }

  Reader& r_;
  Checkpoint& into_;
  std::size_t first_;
  std::uint64_t alignment_ = 32;
  std::vector<std::string> keys_;
  std::vector<std::uint64_t> begins_;
};

}  // namespace

void read_gguf(std::istream& in, std::uint64_t size, const std::string& file, Checkpoint& into) {
  Reader reader(in, size, file);
  Header(reader, into).read(size);
}

}  // namespace llmcalc
