#include "read/tree.hpp"

#include <algorithm>
#include <utility>

#include "core/suggest.hpp"

namespace llmcalc {
namespace {

constexpr std::size_t most_levels = 64;
constexpr std::size_t most_values = 200'000;  // a config.json with the labels of 20,000 classes has 40,000
constexpr std::size_t longest_key = 1000;
constexpr std::size_t longest_path = 300;
constexpr std::size_t most_duplicates = 20;  // reported; after that the file is no profile

}  // namespace

void syntax_error(const std::string& file, int line, int column, std::string message, std::string hint) {
  throw Error(Exit::bad_input, {{Severity::error, {file, line, column, {}}, std::move(message), std::move(hint)}});
}

Place Tree::place(int line, int column) const { return {file_, line, column, child_path()}; }

std::string Tree::child_path() const {
  if (levels_.empty()) return {};
  const Level& level = levels_.back();
  std::string path = level.path;
  if (level.value.kind == Value::Kind::list) {
    path += "[" + std::to_string(level.value.list.size()) + "]";
  } else if (level.has_key) {
    if (!path.empty()) path += ".";
    path += level.entry.key;
  }
  // Paths are kept with every value; long ones from a hostile file must not add up.
  if (path.size() > longest_path) path = "..." + path.substr(path.size() - longest_path);
  return path;
}

bool Tree::at_key() const {
  return !levels_.empty() && levels_.back().value.kind == Value::Kind::map && !levels_.back().has_key;
}

bool Tree::after_key() const { return !levels_.empty() && levels_.back().has_key; }

void Tree::count_value(int line, int column) {
  if (++values_ > most_values) {
    syntax_error(file_, line, column, "has more than " + std::to_string(most_values) + " values; that is no profile");
  }
}

void Tree::open(Value::Kind kind, int line, int column) {
  count_value(line, column);
  if (levels_.size() >= most_levels) {
    syntax_error(file_, line, column, "is nested more than " + std::to_string(most_levels) + " levels deep");
  }
  Level level;
  level.value.kind = kind;
  level.value.place = place(line, column);
  level.path = level.value.place.key;
  levels_.push_back(std::move(level));
}

void Tree::close() {
  Value value = std::move(levels_.back().value);
  levels_.pop_back();
  add(std::move(value));
}

void Tree::add(Value value) {
  if (levels_.empty()) {
    root_ = std::move(value);
    return;
  }
  Level& level = levels_.back();
  if (level.value.kind == Value::Kind::list) {
    level.value.list.push_back(std::move(value));
    return;
  }
  level.entry.value = std::move(value);
  level.value.map.push_back(std::move(level.entry));
  level.entry = {};
  level.has_key = false;
}

void Tree::start_map(int line, int column) { open(Value::Kind::map, line, column); }
void Tree::start_list(int line, int column) { open(Value::Kind::list, line, column); }
void Tree::end_list() { close(); }

void Tree::end_map() {
  find_duplicates(levels_.back().value);
  close();
}

void Tree::key(std::string_view text, int line, int column) {
  if (text.size() > longest_key) syntax_error(file_, line, column, "a key is longer than a name can be");
  Level& level = levels_.back();
  level.entry.key = text;
  level.has_key = true;
  level.entry.key_place = place(line, column);
}

void Tree::scalar(Value value, int line, int column) {
  count_value(line, column);
  value.place = place(line, column);
  add(std::move(value));
}

// Sorted once at the end of a map: a file of many keys must not cost their number squared.
void Tree::find_duplicates(const Value& map) {
  std::vector<const Entry*> entries;
  for (const Entry& entry : map.map) entries.push_back(&entry);
  std::stable_sort(entries.begin(), entries.end(), [](const Entry* a, const Entry* b) { return a->key < b->key; });
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i]->key != entries[i - 1]->key || duplicates_.size() >= most_duplicates) continue;
    const std::string first = "the key stands in line " + std::to_string(entries[i - 1]->key_place.line) + " already";
    duplicates_.push_back({Severity::error, entries[i]->key_place, first, {}});
  }
}

Value Tree::take() {
  if (!duplicates_.empty()) throw Error(Exit::bad_input, std::move(duplicates_));
  return std::move(root_);
}

}  // namespace llmcalc
