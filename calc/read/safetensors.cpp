#include "read/safetensors.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "core/suggest.hpp"
#include "read/json.hpp"
#include "read/tree.hpp"

namespace llmcalc {
namespace {

constexpr std::uint64_t length_bytes = 8;
constexpr std::uint64_t longest_header = 100'000'000;  // bytes; the limit of the format's own library
constexpr std::size_t longest_kept = 200;              // bytes of a metadata entry

// The types of safetensors 0.8.
constexpr std::array<StoredType, 22> types{{
    {"BOOL", 1, 8, DType::boolean},
    {"U8", 1, 8, DType::uint8},
    {"I8", 1, 8, DType::int8},
    {"I16", 1, 16, DType::int16},
    {"U16", 1, 16, std::nullopt},
    {"I32", 1, 32, DType::int32},
    {"U32", 1, 32, std::nullopt},
    {"I64", 1, 64, DType::int64},
    {"U64", 1, 64, DType::uint64},
    {"F16", 1, 16, DType::float16},
    {"BF16", 1, 16, DType::bfloat16},
    {"F32", 1, 32, DType::float32},
    {"F64", 1, 64, DType::float64},
    {"C64", 1, 64, std::nullopt},
    {"F8_E4M3", 1, 8, DType::float8_e4m3fn},
    {"F8_E4M3FNUZ", 1, 8, DType::float8_e4m3fnuz},
    {"F8_E5M2", 1, 8, DType::float8_e5m2},
    {"F8_E5M2FNUZ", 1, 8, DType::float8_e5m2fnuz},
    {"F8_E8M0", 1, 8, DType::float8_e8m0fnu},
    {"F6_E2M3", 1, 6, std::nullopt},
    {"F6_E3M2", 1, 6, std::nullopt},
    {"F4", 1, 4, std::nullopt},
}};

const StoredType* type_named(std::string_view name) {
  const auto found = std::find_if(types.begin(), types.end(), [&](const StoredType& t) { return t.name == name; });
  return found == types.end() ? nullptr : &*found;
}

// Where the values of a tensor lie in the data, in bytes from its start.
struct Place {
  std::uint64_t begin = 0, end = 0;
  std::size_t tensor = 0;
};

// {"__metadata__": {text: text}, name: {"dtype": text, "shape": [n, ...], "data_offsets": [begin, end]}, ...}
class Header : public JsonEvents {
 public:
  Header(const std::string& file, Checkpoint& into) : file_(file), into_(into), first_(into.tensors.size()) {}

  void start_map() override {
    if (at_ == At::file || at_ == At::entry) {
      at_ = at_ == At::file ? At::names : name_ == "__metadata__" ? At::metadata : At::tensor;
      if (at_ == At::tensor) begin_tensor();
    } else {
      misplaced();
    }
  }
  void end_map() override {
    if (at_ == At::tensor) end_tensor();
    at_ = at_ == At::names ? At::end : At::names;
  }
  void start_list() override {
    if (at_ == At::shape && !has_shape_) {
      at_ = At::in_shape;
    } else if (at_ == At::offsets && offsets_ == 0) {
      at_ = At::in_offsets;
    } else {
      misplaced();
    }
  }
  void end_list() override {
    has_shape_ = has_shape_ || at_ == At::in_shape;
    at_ = At::tensor;
  }
  void key(const std::string& text) override {
    if (at_ == At::names) {
      name_ = text;
      at_ = At::entry;
    } else if (at_ == At::metadata) {
      metadata_key_ = text;
    } else if (text == "dtype") {
      at_ = At::type;
    } else if (text == "shape") {
      at_ = At::shape;
    } else if (text == "data_offsets") {
      at_ = At::offsets;
    } else {
      refuse("has a key " + in_quotes(text) + "; dtype, shape and data_offsets are all there are");
    }
  }
  void text(const std::string& text) override {
    if (at_ == At::metadata) {
      if (metadata_key_.size() + text.size() <= longest_kept) into_.metadata.emplace_back(metadata_key_, text);
      return;
    }
    if (at_ != At::type || tensor().type) misplaced();
    tensor().type = type_named(text);
    if (!tensor().type) refuse("has the unknown type " + in_quotes(text));
    at_ = At::tensor;
  }
  void whole(std::uint64_t number) override {
    if (at_ == At::in_shape) {
      if (number > static_cast<std::uint64_t>(std::numeric_limits<Count>::max())) refuse("has an impossible dimension");
      if (tensor().shape.rank() == Dims::max_rank) refuse("has more than 8 dimensions");
      tensor().shape.push_back(static_cast<Count>(number));
    } else if (at_ == At::in_offsets && offsets_ < 2) {
      (offsets_++ == 0 ? place_.begin : place_.end) = number;
    } else {
      misplaced();
    }
  }
  void other() override { misplaced(); }

  // Every byte of the data belongs to one tensor.
  void check_places(std::uint64_t data_bytes) {
    std::sort(places_.begin(), places_.end(),
              [](const Place& a, const Place& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
    std::uint64_t reached = 0;
    for (const Place& place : places_) {
      name_ = into_.tensors[place.tensor].name;
      if (place.begin != reached) {
        refuse(std::string(place.begin < reached ? "overlaps the tensor before it" : "leaves a gap before it") +
               ": it begins at byte " + std::to_string(place.begin) + " of the data, where " + std::to_string(reached) +
               " is next");
      }
      reached = place.end;
      if (reached > data_bytes) {
        refuse("ends at byte " + std::to_string(reached) + " of the data, which has " + std::to_string(data_bytes) +
               "; the file is cut short, or its header is wrong");
      }
    }
    if (reached != data_bytes) {
      syntax_error(file_, 0, 0,
                   std::to_string(data_bytes - reached) + " bytes at its end belong to no tensor of its header");
    }
    check_names();
  }

 private:
  enum class At { file, names, entry, metadata, tensor, type, shape, in_shape, offsets, in_offsets, end };

  StoredTensor& tensor() { return into_.tensors.back(); }

  [[noreturn]] void refuse(const std::string& what) const {
    syntax_error(file_, 0, 0, "the tensor " + in_quotes(name_) + " " + what);
  }

  [[noreturn]] void misplaced() const {
    if (at_ == At::file) syntax_error(file_, 0, 0, "the header is no map of tensors");
    if (at_ == At::metadata) syntax_error(file_, 0, 0, "__metadata__ holds something other than text");
    refuse("is not described by one dtype, one shape and two data_offsets, all sizes whole and at least 0");
  }

  void begin_tensor() {
    into_.tensors.push_back({name_, nullptr, {}, Bytes(0)});
    place_ = {0, 0, into_.tensors.size() - 1};
    has_shape_ = false;
    offsets_ = 0;
  }

  void end_tensor() {
    if (!tensor().type || !has_shape_ || offsets_ != 2) misplaced();
    if (place_.end < place_.begin) refuse("ends before it begins");
    std::optional<Bytes> bytes;
    try {
      bytes = stored_bytes(*tensor().type, elements(tensor().shape));
    } catch (const Overflow&) {
      refuse("of shape " + to_string(tensor().shape) + " has more bytes than can be counted");
    }
    const std::uint64_t stored = place_.end - place_.begin;
    if (!bytes || static_cast<std::uint64_t>(bytes->value()) != stored) {
      refuse("of type " + std::string(tensor().type->name) + " and shape " + to_string(tensor().shape) + " needs " +
             (bytes ? std::to_string(bytes->value()) + " bytes" : "a fraction of a byte") +
             "; its data_offsets give it " + std::to_string(stored));
    }
    tensor().bytes = *bytes;
    places_.push_back(place_);
  }

  void check_names() {
    std::vector<std::string_view> names;
    for (std::size_t i = first_; i < into_.tensors.size(); ++i) names.push_back(into_.tensors[i].name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice == names.end()) return;
    name_ = *twice;
    refuse("stands in the header twice");
  }

  const std::string& file_;
  Checkpoint& into_;
  std::size_t first_;
  At at_ = At::file;
  std::string name_, metadata_key_;
  Place place_;
  bool has_shape_ = false;
  int offsets_ = 0;
  std::vector<Place> places_;
};

std::uint64_t little_endian(const std::array<char, length_bytes>& bytes) {
  constexpr unsigned bits = 8;
  std::uint64_t number = 0;
  for (std::size_t i = length_bytes; i-- > 0;) number = number << bits | static_cast<unsigned char>(bytes[i]);
  return number;
}

}  // namespace

void read_safetensors(std::istream& in, std::uint64_t size, const std::string& file, Checkpoint& into) {
  const auto refuse = [&](const std::string& what) { syntax_error(file, 0, 0, what); };
  std::array<char, length_bytes> start{};
  if (size < length_bytes || !in.read(start.data(), length_bytes))
    refuse("is no safetensors file: shorter than the 8 bytes that give the length of its header");
  const std::uint64_t length = little_endian(start);
  if (length > longest_header) {
    refuse("its header would have " + std::to_string(length) + " bytes; the format allows 100,000,000");
  }
  if (length > size - length_bytes) {
    refuse("its header of " + std::to_string(length) + " bytes ends after the file, which has " + std::to_string(size) +
           "; it is cut short");
  }
  std::string text(length, '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(length))) refuse("its header cannot be read");
  if (text.empty() || text.front() != '{') refuse("its header is no JSON map: it must begin with '{'");
  Header header(file, into);
  walk_json(text, file, "the header", header);
  header.check_places(size - length_bytes - length);
}

}  // namespace llmcalc
