// Rules of thumb as data: name, symbols with units, scope, caution, source, and one computation each that gives the
// value, the formula and the formula with the values put in. Solved for a symbol where that is possible.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/formula.hpp"
#include "core/units.hpp"

namespace llmcalc {

// What values a symbol takes and how they are written.
enum class SymbolKind {
  whole,        // 1, 2, 3, ...: 4096, 1B, 15T, 1e9
  whole_0,      // the same, or 0
  share,        // above 0, at most 1, shown in percent: 0.4, 40%
  fraction,     // the same, shown as a fraction
  positive,     // above 0, in its unit
  device_time,  // the same, of several devices together: shown in device-hours
  zero_up,      // 0 or above, in its unit
  any,          // any real, in its unit
  width,        // bytes of one value: 2, 0.5, or a dtype: bf16
  wholes,       // several whole numbers: 4,4,2
};

struct RuleSymbol {
  const char* key = "";   // on the command line: tokens
  const char* sign = "";  // in the formula: D
  const char* meaning = "";
  Dimension unit = {};
  SymbolKind kind = SymbolKind::positive;
  const char* default_text = "";  // as it would be written; empty: has to be given
  const char* from = "";          // the rule whose first result this is: its symbols may be given instead
};

struct RuleResult {
  const char* key = "";
  const char* sign = "";
  const char* meaning = "";
  Dimension unit = {};
  SymbolKind kind = SymbolKind::zero_up;
};

// Values that belong together under a name: `recipe=momentum`.
struct RulePreset {
  const char* name = "";
  const char* meaning = "";
  const char* values = "";  // "weight=4 gradient=4"
};

// The values of a rule's symbols while it is computed, by key.
class RuleInputs {
 public:
  const Traced& operator[](std::string_view key) const;  // throws FormulaError for a key the rule lacks
  const List<Traced>& list(std::string_view key) const;

  void set(std::string_view key, Traced value) { values_.emplace_back(key, std::move(value)); }
  void set(std::string_view key, List<Traced> value) { lists_.emplace_back(key, std::move(value)); }

 private:
  std::vector<std::pair<std::string_view, Traced>> values_;
  std::vector<std::pair<std::string_view, List<Traced>>> lists_;
};

struct Rule {
  const char* name = "";
  const char* title = "";
  std::vector<RuleSymbol> symbols;
  std::vector<RuleResult> results;  // the last stands for all further values that `compute` returns (weights of a list)
  const char* scope = "";
  const char* caution = "";
  const char* source = "";
  const char* example = "";  // values for a line that works: "parameters=1B tokens=10B"
  std::vector<Traced> (*compute)(const RuleInputs&) = nullptr;
  std::vector<RulePreset> presets = {};
};

const std::vector<Rule>& rules();
std::vector<std::string> rule_names();
// Throws Error(bad_input) with the nearest names.
const Rule& rule_named(std::string_view name);

// A symbol and its value, as it went into a rule.
struct RuleInput {
  const RuleSymbol* symbol = nullptr;
  std::vector<Number> values;  // one, or several for a list
  std::string text;            // as shown: "100 TFLOP/s"
  bool assumed = false;        // the default
};

struct RuleValue {
  std::string key, sign, meaning;
  Dimension unit;
  Number value;
  std::string symbolic;     // "T = 6 · N · D / (G · P · MFU)"
  std::string substituted;  // "6 · 10⁹ parameters · …"
  std::string text;         // "1,500,000 s = 17.36 days"
  std::string note;         // "a whole number is due: at least 4"; mostly empty
};

struct RuleAnswer {
  const Rule* rule = nullptr;
  std::vector<RuleInput> inputs;
  std::string solved_for;  // the key, when a result was given and a symbol asked for
  std::vector<RuleValue> values;
};

// Computes a rule from values as people write them ("peak", "100TFLOP/s"; the sign in the formula does for the key).
// All symbols without a default are given: the results. One result and all but one symbol given (or that one written
// `?`): that symbol. Throws Error(bad_input) listing every problem: unknown keys, wrong units, what is missing.
RuleAnswer apply_rule(const Rule& rule, const std::vector<std::pair<std::string, std::string>>& given);

// A rule with values at hand, for --explain: numbers in base units (bytes, FLOP, seconds), by key; only the first
// result.
struct Explanation {
  std::string symbolic, substituted, result, source;
};
Explanation explain_rule(std::string_view name, const std::vector<std::pair<std::string_view, Number>>& values);

// The formulas of a rule's results with no values put in: "t = C / (G · P · MFU)". Rules behind its symbols stay
// behind.
std::vector<std::string> rule_formulas(const Rule& rule);

// docs/reference/rules.md.
std::string rules_as_markdown();

// ---- The same rules for code that has values already. Counts are exact; Overflow when they leave their type.
// ----------

Flops rule_6nd(Count parameters, Count tokens);
Flops rule_2nd(Count parameters, Count tokens);
Flops rule_4nd(Count parameters, Count tokens);
Flops rule_matmul(Count m, Count n, Count k);
Bytes rule_16n(Count parameters);                                  // fp32 weights, gradients and two AdamW moments
Bytes rule_training_state(Count parameters, Bytes per_parameter);  // 16N's relatives
Bytes rule_kv_cache_per_token(Count layers, Count kv_heads, Count head_dim, Bytes per_value);
FlopsPerByte rule_ridge(FlopsPerSecond peak, BytesPerSecond bandwidth);
FlopsPerSecond rule_roofline(FlopsPerSecond peak, BytesPerSecond bandwidth, FlopsPerByte intensity);
Seconds rule_roofline_time(Flops flops, Bytes bytes, FlopsPerSecond peak, BytesPerSecond bandwidth);
double rule_mfu(FlopsPerSecond achieved, Count devices, FlopsPerSecond peak);
Seconds rule_training_time(Flops flops, Count devices, FlopsPerSecond peak, double mfu);
double rule_cost(Seconds time, Count devices, DollarsPerHour price);  // dollars

}  // namespace llmcalc
