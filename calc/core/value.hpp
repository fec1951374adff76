// A document as read from YAML or JSON: one tree, each value with the place it came from.
// Readers (calc/read) make it; everything below works on it and never sees a parser.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics.hpp"

namespace llmcalc {

struct Entry;

struct Value {
  enum class Kind { null, boolean, integer, real, text, list, map };

  Kind kind = Kind::null;
  bool boolean = false;
  long long integer = 0;  // exact; a literal outside 64 bits is kept as `real` with its `text`
  double real = 0;        // set for integer too
  std::string text;       // the scalar as written
  std::vector<Value> list;
  std::vector<Entry> map;  // in the order of the file
  Place place;

  bool is_null() const { return kind == Kind::null; }
  const Value* find(std::string_view key) const;  // nullptr when this is no map or has no such key
};

struct Entry {
  std::string key;
  Value value;
  Place key_place;
};

}  // namespace llmcalc
