// JSON to write: ordered, and with whole numbers exact at any size (FLOPs pass 2^64, which JSON libraries round).
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/units.hpp"

namespace llmcalc::report {

class Json {
 public:
  static Json object() { return Json(Kind::object); }
  static Json array() { return Json(Kind::array); }

  Json(bool value);             // NOLINT(google-explicit-constructor): values convert as they do in JSON itself
  Json(double value);           // NOLINT: the shortest digits that read back as the same number; must be finite
  Json(Int128 value);           // NOLINT: all digits
  Json(std::string_view text);  // NOLINT
  Json(const std::string& text) : Json(std::string_view(text)) {}  // NOLINT
  Json(const char* text) : Json(std::string_view(text)) {}         // NOLINT
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Json(T value) : Json(static_cast<Int128>(value)) {}  // NOLINT
  template <class Unit, class Rep>
  Json(Exact<Unit, Rep> count) : Json(static_cast<Int128>(count.value())) {}  // NOLINT
  template <class Unit>
  Json(Real<Unit> magnitude) : Json(magnitude.value()) {}  // NOLINT
  template <class T>
  Json(const std::vector<T>& values) : Json(Kind::array) {  // NOLINT
    for (const T& value : values) push(value);
  }

  // Objects: members keep the order in which they were set; setting one again replaces its value. What does not apply
  // is absent: an empty optional sets nothing.
  Json& set(std::string_view key, Json value);
  template <class T>
  Json& set(std::string_view key, const std::optional<T>& value) {
    return value ? set(key, Json(*value)) : *this;
  }

  Json& push(Json value);  // arrays

  bool is_empty() const { return members_.empty() && items_.empty(); }  // of an object or array

  std::string plain_text() const { return text_; }  // of a text or number, without quotes

  // Indented by two spaces, short arrays of plain values on one line, and a newline at the end.
  std::string dump() const;

  // One line a value, "path,value" with a header: the whole document as a table for spreadsheets (RFC 4180). Objects in
  // paths are parted by dots, places in arrays count from 0: memory.phases.0.peak.
  std::string flat_csv() const;

 private:
  enum class Kind { object, array, text, literal };  // literal: number, true, false; `text_` as it is written

  explicit Json(Kind kind) : kind_(kind) {}
  void write(std::string& out, std::size_t depth) const;
  void flatten(const std::string& path, std::string& out) const;
  bool is_plain() const { return kind_ == Kind::text || kind_ == Kind::literal; }
  std::size_t written_length() const;

  Kind kind_;
  std::string text_;
  std::vector<std::pair<std::string, Json>> members_;
  std::vector<Json> items_;
};

}  // namespace llmcalc::report
