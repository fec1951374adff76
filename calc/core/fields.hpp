// Typed access to one map of a document, for the code that knows what the keys mean (the model families).
//
// Every accessor reports a wrong value at its place and returns something usable, so that all problems of a file
// come out in one run. What was read, what was assumed and what nobody asked for is remembered.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics.hpp"
#include "core/units.hpp"
#include "core/value.hpp"

namespace llmcalc {

// The names one key goes by; the first is the family's own and the one that is reported.
class KeyNames {
 public:
  KeyNames(const char* name) : names_{name} {}         // NOLINT: meant to convert
  KeyNames(std::string_view name) : names_{name} {}    // NOLINT: meant to convert
  KeyNames(const std::string& name) : names_{name} {}  // NOLINT: meant to convert
  KeyNames(std::initializer_list<std::string_view> names) : names_(names) {}

  std::string_view own() const { return names_.front(); }
  const std::vector<std::string_view>& all() const { return names_; }

 private:
  std::vector<std::string_view> names_;
};

class Fields {
 public:
  // No dimension of a model comes near this; a larger one is a slip of the pen. The product of two still fits a Count.
  static constexpr Count largest_count = Count{1} << 31;
  // Of what is counted in all: parameters, tokens.
  static constexpr Count largest_total = Count{1} << 50;
  // Work and memory grow with the number of layers, so that one has a tighter limit.
  static constexpr Count most_layers = 100'000;

  // A key that was absent, and what was taken for it.
  struct Assumed {
    std::string key, value;
  };

  // `root` must be a map (an error otherwise) and, like `diagnostics`, must outlive this. `path` is where the map
  // stands in its document ("ffn_config"), for messages.
  Fields(const Value& root, Diagnostics& diagnostics, std::string path = {});

  Count count(const KeyNames& key);                         // required, a whole number >= 1; 1 after an error
  Count count(const KeyNames& key, Count assumed);          // absent: assumed; null: an error; >= 1
  Count count_or_zero(const KeyNames& key, Count assumed);  // the same, >= 0
  Count total(const KeyNames& key);                         // like count, up to largest_total: parameters
  Count layers(const KeyNames& key);                        // like count, at most most_layers
  Count layers(const KeyNames& key, Count assumed);
  std::optional<Count> optional_count(const KeyNames& key,
                                      std::optional<Count> assumed);  // null: none; absent: assumed
  bool flag(const KeyNames& key, bool assumed);                       // null: false, as in Python
  double number(const KeyNames& key, double assumed);                 // finite
  double rate(const KeyNames& key, double assumed);                   // the same, from 0 to 1: dropout
  std::optional<double> optional_number(const KeyNames& key, std::optional<double> assumed);  // as optional_count
  std::string text(const KeyNames& key, std::string_view assumed);
  std::vector<Count> counts(const KeyNames& key);       // absent or null: empty; each >= 0
  std::vector<std::string> texts(const KeyNames& key);  // absent or null: empty

  bool has(const KeyNames& key) const;      // also counts as known: it can be what a misspelt key was meant to be
  bool is_null(const KeyNames& key) const;  // there, and null
  const Value* raw(const KeyNames& key);    // nullptr when absent; marks it as read
  void ignore(const KeyNames& key);         // known, and without effect on any count
  void ignore(std::initializer_list<const char*> keys);

  // A key that is missing or unreadable got a value in its stead: what follows from that value is nobody's mistake.
  bool has_stand_ins() const { return stand_ins_; }

  void error(const KeyNames& key, std::string message, std::string hint = {});
  void warning(const KeyNames& key, std::string message, std::string hint = {});

  const std::vector<Assumed>& assumed() const { return assumed_; }
  const Value* peek(std::string_view key) const { return root_->find(key); }  // does not count as read
  std::vector<std::string> unread() const;                                    // in the order of the file
  const std::vector<std::string>& known() const { return known_; }            // every name asked for or ignored
  Place place(std::string_view key) const;      // of that key; of the map when it is absent
  Place key_place(std::string_view key) const;  // of the key itself, not of its value
  const Place& map_place() const { return root_->place; }
  const std::string& path() const { return path_; }

 private:
  const Value* look_up(const KeyNames& key) const;
  void know(const KeyNames& key) const;
  void assume(const KeyNames& key, std::string value);
  void wrong(const Value& value, const KeyNames& key, std::string message, std::string hint = {}) const;
  std::optional<Count> whole(const Value& value, const KeyNames& key, Count least, Count most) const;
  std::optional<double> finite(const Value& value, const KeyNames& key) const;
  Count required(const KeyNames& key, Count most);
  Count defaulted(const KeyNames& key, Count assumed, Count least, Count most);
  std::string_view present(const KeyNames& key) const;
  std::string full(std::string_view key) const;

  const Value* root_;
  Diagnostics* diagnostics_;
  std::string path_;
  mutable std::vector<std::string> known_;  // grows when a key is asked for, so also in has()
  std::vector<Assumed> assumed_;
  mutable bool stand_ins_ = false;
};

// The keys nobody asked for. In YAML each is an error (a typo must not pass), with the known key it resembles; in a
// config.json, which carries much that has no effect on counts, one warning lists those that could have one.
void report_unread(const Fields& fields, bool is_yaml, Diagnostics& diagnostics);

}  // namespace llmcalc
