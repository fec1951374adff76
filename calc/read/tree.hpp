// Builds a Value from a parser's events, and keeps the limits and rules both formats share: depth, number of values,
// no key twice, a key path for every place.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/value.hpp"

namespace llmcalc {

// A problem of the text itself, at a place of the file.
[[noreturn]] void syntax_error(const std::string& file, int line, int column, std::string message,
                               std::string hint = {});

class Tree {
 public:
  explicit Tree(std::string file) : file_(std::move(file)) {}

  // Lines and columns count from 1.
  void start_map(int line, int column);
  void key(std::string_view text, int line, int column);
  void end_map();
  void start_list(int line, int column);
  void end_list();
  void scalar(Value value, int line, int column);

  bool at_key() const;     // the next event is a key of a map
  bool after_key() const;  // the next event is the value of a map's key

  // Throws Error(bad_input) with every duplicate key. `take` ends the building.
  Value take();

 private:
  struct Level {
    Value value;
    std::string path;
    Entry entry;  // a map's key that waits for its value
    bool has_key = false;
  };

  Place place(int line, int column) const;
  std::string child_path() const;
  void open(Value::Kind kind, int line, int column);
  void close();
  void add(Value value);
  void count_value(int line, int column);
  void find_duplicates(const Value& map);

  std::string file_;
  std::vector<Level> levels_;
  Value root_;
  std::size_t values_ = 0;
  std::vector<Diagnostic> duplicates_;
};

}  // namespace llmcalc
