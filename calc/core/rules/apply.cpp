// Computing a rule from what was given: which symbols it takes, what is missing, forward or solved for one symbol.
#include <algorithm>
#include <cmath>
#include <set>

#include "core/rules.hpp"
#include "core/rules/values.hpp"
#include "core/suggest.hpp"

namespace llmcalc {
namespace {

constexpr std::string_view unknown_mark = "?";
constexpr std::string_view preset_key = "recipe";

using Given = std::vector<std::pair<std::string, std::string>>;

const std::string* find(const Given& given, std::string_view key) {
  for (const auto& [name, text] : given) {
    if (name == key) return &text;
  }
  return nullptr;
}

bool has_symbol(const Rule& rule, std::string_view key) {
  return std::any_of(rule.symbols.begin(), rule.symbols.end(), [&](const RuleSymbol& s) { return s.key == key; });
}

// Every symbol that can be given: the rule's own, and those of the rules that stand behind them.
void all_symbols(const Rule& rule, std::vector<const RuleSymbol*>& found) {
  for (const RuleSymbol& symbol : rule.symbols) {
    const bool known = std::any_of(found.begin(), found.end(),
                                   [&](const RuleSymbol* s) { return std::string_view(s->key) == symbol.key; });
    if (!known) found.push_back(&symbol);
    if (*symbol.from != '\0') all_symbols(rule_named(symbol.from), found);
  }
}

// One job of computing a rule.
class Application {
 public:
  Application(const Rule& rule, Given given) : rule_(rule), given_(std::move(given)) {}

  RuleAnswer run() {
    check_keys();
    problems_.throw_if_errors();
    apply_preset();
    collect(rule_, {});
    parse();
    choose_unknown();
    problems_.throw_if_errors();
    const std::vector<Traced> results = compute(rule_);
    RuleAnswer answer;
    answer.rule = &rule_;
    for (const Leaf& leaf : leaves_) {
      if (leaf.values) answer.inputs.push_back({leaf.symbol, *leaf.values, leaf.text, leaf.assumed});
    }
    if (target_ == nullptr) {
      forward(results, answer);
    } else {
      backward(results, answer);
    }
    return answer;
  }

 private:
  struct Leaf {
    const RuleSymbol* symbol;
    std::optional<std::vector<Number>> values;
    std::string text;
    bool assumed = false;
  };

  static Place at(std::string_view key) { return {.file = {}, .line = 0, .column = 0, .key = std::string(key)}; }

  void check_keys() {
    std::vector<const RuleSymbol*> symbols;
    all_symbols(rule_, symbols);
    std::vector<std::string> known;
    known.reserve(symbols.size() + rule_.results.size() + 1);
    for (const RuleSymbol* symbol : symbols) known.emplace_back(symbol->key);
    for (const RuleResult& result : rule_.results) known.emplace_back(result.key);
    if (!rule_.presets.empty()) known.emplace_back(preset_key);
    const auto key_of_sign = [&](const std::string& sign) -> const char* {
      for (const RuleSymbol* symbol : symbols) {
        if (sign == symbol->sign) return symbol->key;
      }
      for (const RuleResult& result : rule_.results) {
        if (sign == result.sign) return result.key;
      }
      return nullptr;
    };
    std::set<std::string> seen;
    for (auto& [key, text] : given_) {
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        if (const char* meant = key_of_sign(key)) key = meant;  // N=1B for parameters=1B
      }
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        std::string hint = did_you_mean(key, known);
        if (hint.empty()) hint = "it knows " + join(known);
        problems_.error({}, "the rule " + std::string(rule_.name) + " has no symbol " + in_quotes(key), hint);
      } else if (!seen.insert(key).second) {
        problems_.error(at(key), "given twice");
      }
    }
  }

  void apply_preset() {
    const std::string* name = find(given_, preset_key);
    if (name == nullptr || rule_.presets.empty()) return;
    std::vector<std::string> known;
    for (const RulePreset& preset : rule_.presets) {
      known.emplace_back(preset.name);
      if (*name != preset.name) continue;
      std::string_view values = preset.values;
      while (!values.empty()) {
        const std::string_view one = values.substr(0, values.find(' '));
        values.remove_prefix(std::min(values.size(), one.size() + 1));
        const std::size_t equals = one.find('=');
        const std::string key(one.substr(0, equals));
        if (find(given_, key) == nullptr) given_.emplace_back(key, one.substr(equals + 1));
      }
      return;
    }
    std::string hint = did_you_mean(*name, known);
    problems_.error(at(preset_key), "there is no " + in_quotes(*name),
                    hint.empty() ? "known are " + join(known) : hint);
  }

  // Whether the symbol is to be computed by the rule behind it: one of that rule's own symbols was given.
  bool is_expanded(const Rule& rule, const RuleSymbol& symbol, const std::vector<const Rule*>& above) const {
    if (*symbol.from == '\0' || find(given_, symbol.key) != nullptr) return false;
    std::vector<const RuleSymbol*> behind;
    all_symbols(rule_named(symbol.from), behind);
    return std::any_of(behind.begin(), behind.end(), [&](const RuleSymbol* s) {
      const bool shared = has_symbol(rule, s->key) || std::any_of(above.begin(), above.end(), [&](const Rule* r) {
                            return has_symbol(*r, s->key);
                          });
      return !shared && find(given_, s->key) != nullptr;
    });
  }

  // Lists the symbols that need a value, each once.
  void collect(const Rule& rule, const std::vector<const Rule*>& above) {
    for (const RuleSymbol& symbol : rule.symbols) {
      if (is_expanded(rule, symbol, above)) {
        expanded_.insert(&symbol);
        std::vector<const Rule*> deeper = above;
        deeper.push_back(&rule);
        collect(rule_named(symbol.from), deeper);
      } else if (std::none_of(leaves_.begin(), leaves_.end(),
                              [&](const Leaf& leaf) { return std::string_view(leaf.symbol->key) == symbol.key; })) {
        leaves_.push_back({&symbol, std::nullopt, {}, false});
      }
    }
  }

  static std::string text_of(const RuleSymbol& symbol, const std::vector<Number>& values) {
    std::string text;
    for (const Number& value : values) {
      if (!text.empty()) text += ", ";
      text += rule::short_text(symbol.kind, symbol.unit, value);
    }
    return text;
  }

  void parse() {
    for (Leaf& leaf : leaves_) {
      const std::string* text = find(given_, leaf.symbol->key);
      if (text != nullptr && *text == unknown_mark) continue;
      if (text == nullptr && *leaf.symbol->default_text == '\0') continue;
      leaf.assumed = text == nullptr;
      leaf.values = rule::parse_value(*leaf.symbol, leaf.assumed ? leaf.symbol->default_text : *text, problems_);
      if (leaf.values) leaf.text = text_of(*leaf.symbol, *leaf.values);
    }
    for (const RuleResult& result : rule_.results) {
      const std::string* text = find(given_, result.key);
      if (text == nullptr || *text == unknown_mark || has_symbol(rule_, result.key)) continue;
      if (target_ != nullptr) {
        problems_.error(at(result.key),
                        "one result at a time can be given; " + std::string(target_->key) + " is given too");
        continue;
      }
      target_ = &result;
      const RuleSymbol as_symbol{result.key, result.sign, result.meaning, result.unit, result.kind, "", ""};
      if (const auto values = rule::parse_value(as_symbol, *text, problems_)) target_value_ = values->front();
    }
  }

  // "achieved: a compute rate (FLOP/s, TFLOP/s); peak: ..."
  static std::string described(const std::vector<Leaf*>& leaves) {
    std::string text;
    for (const Leaf* leaf : leaves) {
      if (!text.empty()) text += "; ";
      text += std::string(leaf->symbol->key) + ": " + rule::due_text(*leaf->symbol);
    }
    return text;
  }

  std::string example() const { return "for example: llmcalc rule " + std::string(rule_.name) + " " + rule_.example; }

  void choose_unknown() {
    std::vector<Leaf*> missing;
    std::vector<Leaf*> assumed;
    for (Leaf& leaf : leaves_) {
      const std::string* text = find(given_, leaf.symbol->key);
      if (text != nullptr && *text == unknown_mark) marked_.push_back(&leaf);
      if (text == nullptr && *leaf.symbol->default_text == '\0') missing.push_back(&leaf);
      if (leaf.assumed) assumed.push_back(&leaf);
    }
    if (target_ == nullptr) {
      if (!missing.empty()) {
        problems_.error({}, "missing: " + described(missing), example());
      } else if (!marked_.empty()) {
        std::vector<std::string> results;
        results.reserve(rule_.results.size());
        for (const RuleResult& result : rule_.results) results.emplace_back(result.key);
        problems_.error(at(marked_.front()->symbol->key),
                        "to solve for it, a result has to be given: " + join(results, "or"));
      }
      return;
    }
    if (marked_.size() + missing.size() > 1) {
      missing.insert(missing.end(), marked_.begin(), marked_.end());
      problems_.error({}, "too many unknowns: " + described(missing),
                      "leave out one symbol only, and it is solved for");
      return;
    }
    if (!marked_.empty()) unknown_ = marked_.front();
    if (!missing.empty()) unknown_ = missing.front();
    if (unknown_ == nullptr && assumed.size() == 1) {
      unknown_ = assumed.front();  // only one thing was left out, though it has a default
      unknown_->values.reset();
      unknown_->assumed = false;
    }
    if (unknown_ == nullptr) {
      problems_.error(
          {}, "nothing is left to solve for: " + std::string(target_->key) + " is given and so is everything else",
          assumed.empty() ? std::string("leave out the symbol to solve for")
                          : "write ? for the one to solve for: " + std::string(assumed.front()->symbol->key) + "=?");
    } else if (unknown_->symbol->kind == SymbolKind::wholes) {
      problems_.error(at(unknown_->symbol->key), "a list cannot be solved for");
    }
  }

  std::vector<Traced> compute(const Rule& rule) const {
    RuleInputs inputs;
    for (const RuleSymbol& symbol : rule.symbols) {
      if (expanded_.count(&symbol) != 0) {
        inputs.set(symbol.key, compute(rule_named(symbol.from)).front());
        continue;
      }
      const Leaf& leaf = *std::find_if(leaves_.begin(), leaves_.end(),
                                       [&](const Leaf& l) { return std::string_view(l.symbol->key) == symbol.key; });
      if (symbol.kind == SymbolKind::wholes) {
        List<Traced> list{symbol.sign, {}};
        for (const Number& value : leaf.values.value_or(std::vector<Number>())) {
          const std::string sign = std::string(symbol.sign) + "_" + std::to_string(list.size() + 1);
          list.items.push_back(Traced::symbol(sign, value, symbol.unit));
        }
        inputs.set(symbol.key, std::move(list));
      } else if (leaf.values) {
        inputs.set(symbol.key, Traced::symbol(symbol.sign, leaf.values->front(), symbol.unit, leaf.text));
      } else {
        inputs.set(symbol.key, Traced::unknown(symbol.sign, symbol.unit));
      }
    }
    return rule.compute(inputs);
  }

  void forward(const std::vector<Traced>& results, RuleAnswer& answer) const {
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::size_t last = rule_.results.size() - 1;
      const RuleResult& result = rule_.results[std::min(i, last)];
      const bool repeated = results.size() > rule_.results.size() && i >= last;
      const std::string number = repeated ? "_" + std::to_string(i - last + 1) : "";
      if (results[i].dimension() != result.unit) {
        throw FormulaError(std::string(rule_.name) + ": " + result.key + " comes out in " +
                           to_string(results[i].dimension()) + ", not in " + to_string(result.unit));
      }
      answer.values.push_back(
          value_of(result.key + number, result.sign + number, result.meaning, result.unit, result.kind, results[i]));
    }
  }

  void backward(const std::vector<Traced>& results, RuleAnswer& answer) const {
    const RuleSymbol& symbol = *unknown_->symbol;
    const auto index = static_cast<std::size_t>(target_ - rule_.results.data());
    const Traced target = Traced::symbol(target_->sign, target_value_, target_->unit,
                                         rule::short_text(target_->kind, target_->unit, target_value_));
    try {
      const Traced solved = formula::solve(results[index], symbol.sign, target);
      answer.solved_for = symbol.key;
      answer.values.push_back(value_of(symbol.key, symbol.sign, symbol.meaning, symbol.unit, symbol.kind, solved));
    } catch (const formula::Unsolvable& problem) {
      throw Error(Exit::bad_input,
                  std::string(rule_.name) + " cannot be solved for " + symbol.key + " from " + target_->key + ": " +
                      problem.what(),
                  "the formula is " + std::string(target_->sign) + " = " + formula::symbolic(results[index]));
    }
  }

  // A count that went through a root or a rounded decimal is whole but for that rounding.
  static Number whole_if_nearly(SymbolKind kind, const Number& value) {
    if (value.is_integer() || (kind != SymbolKind::whole && kind != SymbolKind::whole_0)) return value;
    const Number nearest = floor(value + Number::fraction(1, 2));
    constexpr double relative = 1e-12;
    constexpr double absolute = 1e-6;
    const double distance = std::fabs((value - nearest).as_double());
    return distance <= std::min(absolute, relative * nearest.as_double()) ? nearest : value;
  }

  RuleValue value_of(const std::string& key, const std::string& sign, const char* meaning, Dimension unit,
                     SymbolKind kind, const Traced& expression) const {
    const Number value = whole_if_nearly(kind, expression.value());
    const std::string problem = rule::range_problem(kind, value);
    if (!problem.empty()) {
      throw Error(Exit::bad_input, key + " comes out as " + rule::short_text(kind, unit, value) + ", but " + problem,
                  key == "mfu" ? rule_named("mfu").caution : rule_.caution);
    }
    RuleValue result{key,
                     sign,
                     meaning,
                     unit,
                     value,
                     sign + " = " + formula::symbolic(expression),
                     formula::substituted(expression),
                     rule::long_text(kind, unit, value),
                     {}};
    if (kind == SymbolKind::whole && !value.is_integer()) {
      result.note = "not a whole number: between " + to_text(floor(value)) + " and " + to_text(ceil(value));
    }
    return result;
  }

  const Rule& rule_;
  Given given_;
  Diagnostics problems_;
  std::vector<Leaf> leaves_;
  std::set<const RuleSymbol*> expanded_;
  std::vector<Leaf*> marked_;
  const RuleResult* target_ = nullptr;
  Number target_value_;
  Leaf* unknown_ = nullptr;
};

}  // namespace

RuleAnswer apply_rule(const Rule& rule, const std::vector<std::pair<std::string, std::string>>& given) {
  return rule::with_arithmetic_errors(rule.name, [&] { return Application(rule, given).run(); });
}

}  // namespace llmcalc
