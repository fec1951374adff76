// Reading run options: one row an option, the same for the command line and for a `run:` map.
#include "core/run.hpp"

#include <algorithm>
#include <utility>

#include "core/conventions.hpp"
#include "core/optimizer.hpp"
#include "core/precision.hpp"
#include "core/quantity.hpp"
#include "core/suggest.hpp"

namespace llmcalc {
namespace {

using Names = std::vector<std::string>;

// What is wrong with the text; an empty message means it was taken.
struct Problem {
  std::string message, hint;
};

Problem take_count(std::optional<Count>& target, const std::string& text) {
  Parsed<Count> parsed = parse_count(text);
  if (!parsed) return {std::move(parsed.message), std::move(parsed.hint)};
  if (*parsed < 1) return {"must be at least 1, not " + std::to_string(*parsed), {}};
  target = *parsed;
  return {};
}

Problem take_counts(std::optional<std::vector<Count>>& target, const std::string& text) {
  Parsed<std::vector<Count>> parsed = parse_counts(text);
  if (!parsed) return {std::move(parsed.message), std::move(parsed.hint)};
  for (Count count : *parsed) {
    if (count < 1) return {"each must be at least 1, not " + std::to_string(count), {}};
  }
  target = *parsed;
  return {};
}

Problem take_name(std::optional<std::string>& target, const std::string& text) {
  if (text.empty()) return {"a value is missing", {}};
  target = text;
  return {};
}

Problem take_choice(std::optional<std::string>& target, const std::string& text, const Names& choices) {
  if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
    const std::string near = did_you_mean(text, choices);
    return {in_quotes(text) + " is not one of " + join(choices), near};
  }
  target = text;
  return {};
}

Problem take_flag(bool& target, const std::string& text) {
  if (!text.empty() && text != "true" && text != "false") return {"must be true or false, not " + in_quotes(text), {}};
  target = text != "false";
  return {};
}

Problem take_loss(std::optional<std::string>& target, const std::string& text) {
  const std::string chunked = "chunked:";
  if (text.starts_with(chunked)) {
    std::optional<Count> chunks;
    Problem problem = take_count(chunks, text.substr(chunked.size()));
    if (problem.message.empty()) target = text;
    return problem;
  }
  return text == "plain" || text == "fused"
             ? take_name(target, text)
             : Problem{in_quotes(text) + " is not one of plain, chunked:n and fused", "for instance chunked:8"};
}

Problem take_dropout(std::optional<double>& target, const std::string& text) {
  Parsed<double> parsed = parse_fraction(text);
  if (!parsed) return {std::move(parsed.message), std::move(parsed.hint)};
  if (*parsed >= 1) return {in_quotes(text) + " would drop everything; a rate is below 1", {}};
  target = *parsed;
  return {};
}

Problem take_mfu(std::optional<double>& target, const std::string& text) {
  Parsed<double> parsed = parse_fraction(text);
  if (!parsed) return {std::move(parsed.message), std::move(parsed.hint)};
  if (*parsed <= 0) return {"must be greater than 0", {}};
  if (*parsed > 1) {
    return {in_quotes(text) + " is more than the device can do; a utilization is at most 100%",
            "more than 100% usually means a sparse peak, a wrong number of devices, or all experts counted"};
  }
  target = *parsed;
  return {};
}

Problem take_price(std::optional<double>& target, const std::string& text) {
  Parsed<double> parsed = parse_number(!text.empty() && text.front() == '$' ? text.substr(1) : text);
  if (!parsed) return {std::move(parsed.message), "dollars per device-hour, for instance 3.99"};
  if (*parsed < 0) return {in_quotes(text) + " is negative", {}};
  constexpr double most_dollars = 1e9;  // no device costs that an hour
  if (*parsed > most_dollars) return {in_quotes(text) + " is too large", "dollars per device-hour"};
  target = *parsed;
  return {};
}

// In which mode an option means something.
enum class For { both, training, inference };

struct Row {
  const char* name;
  Problem (*take)(RunOptions&, const std::string&);
  void (*merge)(RunOptions&, const RunOptions&);
  For mode = For::both;
  bool (*given)(const RunOptions&) = nullptr;  // of an option for one mode
  void (*leave_out)(RunOptions&) = nullptr;
};

template <auto field>
void merge(RunOptions& into, const RunOptions& from) {
  if (from.*field) into.*field = from.*field;
}

template <auto field>
constexpr Row only(For mode, const char* name, Problem (*take)(RunOptions&, const std::string&)) {
  return {name,
          take,
          merge<field>,
          mode,
          [](const RunOptions& run) { return (run.*field).has_value(); },
          [](RunOptions& run) { (run.*field).reset(); }};
}

bool belongs_to(const Row& row, const std::string& mode) {
  return row.mode == For::both || (row.mode == For::inference) == (mode == "infer");
}

Problem take_known(std::optional<std::string>& target, const std::string& text, const char* what, const Names& names) {
  if (text.empty()) return {"a value is missing", {}};
  if (std::find(names.begin(), names.end(), text) == names.end()) {
    const std::string near = did_you_mean(text, names);
    return {std::string("unknown ") + what + " " + in_quotes(text), near.empty() ? "known are " + join(names) : near};
  }
  target = text;
  return {};
}

template <auto field>
Problem count(RunOptions& run, const std::string& text) {
  return take_count(run.*field, text);
}

template <auto field>
Problem name(RunOptions& run, const std::string& text) {
  return take_name(run.*field, text);
}

template <auto field>
Problem flag(RunOptions& run, const std::string& text) {
  return take_flag(run.*field, text);
}

Problem mode(RunOptions& run, const std::string& text) { return take_choice(run.mode, text, {"train", "infer"}); }
Problem lengths(RunOptions& run, const std::string& text) { return take_counts(run.lengths, text); }
Problem optimizer_step(RunOptions& run, const std::string& text) {
  return take_choice(run.optimizer_step, text, {"foreach", "fused", "single", "in-backward"});
}
Problem implementation(RunOptions& run, const std::string& text) {
  return take_choice(run.implementation, text, {"transformers", "fused", "megatron"});
}
Problem attention(RunOptions& run, const std::string& text) {
  return take_choice(run.attention, text, {"auto", "eager", "flash", "efficient", "cudnn", "math"});
}
Problem recompute(RunOptions& run, const std::string& text) {
  return take_choice(run.recompute, text, {"none", "selective", "full"});
}
Problem precision(RunOptions& run, const std::string& text) {
  return take_known(run.precision, text, "precision", precision_names());
}
Problem optimizer(RunOptions& run, const std::string& text) {
  return take_known(run.optimizer, text, "optimizer", optimizer_names());
}
Problem attention_flops(RunOptions& run, const std::string& text) {
  return take_known(run.attention_flops, text, "convention", convention_names());
}
Problem loss(RunOptions& run, const std::string& text) { return take_loss(run.loss, text); }
Problem dropout(RunOptions& run, const std::string& text) { return take_dropout(run.dropout, text); }
Problem mfu(RunOptions& run, const std::string& text) { return take_mfu(run.mfu, text); }
Problem price(RunOptions& run, const std::string& text) { return take_price(run.price, text); }

using R = RunOptions;

// In the order of docs/reference.
constexpr Row rows[] = {
    {"mode", mode, merge<&R::mode>},
    {"batch", count<&R::batch>, merge<&R::batch>},
    {"seq", count<&R::seq>, merge<&R::seq>},
    {"lengths", lengths, merge<&R::lengths>},
    only<&R::accumulate>(For::training, "accumulate", count<&R::accumulate>),
    only<&R::tokens>(For::training, "tokens", count<&R::tokens>),
    {"gpus", count<&R::gpus>, merge<&R::gpus>},
    {"precision", precision, merge<&R::precision>},
    only<&R::optimizer>(For::training, "optimizer", optimizer),
    only<&R::optimizer_step>(For::training, "optimizer-step", optimizer_step),
    {"implementation", implementation, merge<&R::implementation>},
    {"attention", attention, merge<&R::attention>},
    only<&R::recompute>(For::training, "recompute", recompute),
    only<&R::loss>(For::training, "loss", loss),
    only<&R::dropout>(For::training, "dropout", dropout),
    {"lora", name<&R::lora>, merge<&R::lora>},
    {"dora", name<&R::dora>, merge<&R::dora>},
    {"qlora", name<&R::qlora>, merge<&R::qlora>},
    only<&R::freeze>(For::training, "freeze", name<&R::freeze>),
    only<&R::kv_dtype>(For::inference, "kv-dtype", name<&R::kv_dtype>),
    {"mtp", flag<&R::mtp>, merge<&R::mtp>, For::training, [](const R& run) { return run.mtp; },
     [](R& run) { run.mtp = false; }},
    {"expandable-segments", flag<&R::expandable_segments>, merge<&R::expandable_segments>},
    {"attention-flops", attention_flops, merge<&R::attention_flops>},
    only<&R::mfu>(For::training, "mfu", mfu),
    only<&R::price>(For::training, "price", price),
    {"require-fit", flag<&R::require_fit>, merge<&R::require_fit>},
    {"as", name<&R::as_family>, merge<&R::as_family>},
};

const Row* find_row(const std::string& name) {
  std::string dashed = name;
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  for (const Row& row : rows) {
    if (dashed == row.name) return &row;
  }
  return nullptr;
}

// The text of a value as it would stand on the command line; a list becomes "a,b,c".
std::optional<std::string> as_text(const Value& value) {
  switch (value.kind) {
    case Value::Kind::boolean: return value.boolean ? "true" : "false";
    case Value::Kind::integer:
    case Value::Kind::real:
    case Value::Kind::text: return value.text;
    case Value::Kind::list: {
      std::string all;
      for (const Value& item : value.list) {
        const bool scalar =
            item.kind == Value::Kind::integer || item.kind == Value::Kind::real || item.kind == Value::Kind::text;
        if (!scalar) return std::nullopt;
        all += (all.empty() ? "" : ",") + item.text;
      }
      return all;
    }
    default: return std::nullopt;
  }
}

}  // namespace

RunOptions RunOptions::overridden_by(const RunOptions& other) const {
  RunOptions result = *this;
  for (const Row& row : rows) row.merge(result, other);
  return result;
}

std::vector<std::string> RunOptions::meaningless_in(const std::string& asked_mode) const {
  std::vector<std::string> names;
  for (const Row& row : rows)
    if (!belongs_to(row, asked_mode) && row.given(*this)) names.emplace_back(row.name);
  return names;
}

RunOptions RunOptions::meaningful_in(const std::string& asked_mode) const {
  RunOptions result = *this;
  for (const Row& row : rows)
    if (!belongs_to(row, asked_mode)) row.leave_out(result);
  return result;
}

const std::vector<std::string>& run_option_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Row& row : rows) all.emplace_back(row.name);
    return all;
  }();
  return names;
}

RunOptions read_run_options(const Value& map, Diagnostics& diagnostics) {
  RunOptions run;
  if (map.kind != Value::Kind::map) {
    if (!map.is_null()) diagnostics.error(map.place, "must be a map of run options, such as {seq: 8192, tokens: 15T}");
    return run;
  }
  for (const Entry& entry : map.map) {
    const Row* row = find_row(entry.key);
    if (!row) {
      diagnostics.error(entry.key_place, "unknown run option", did_you_mean(entry.key, run_option_names()));
      continue;
    }
    const std::optional<std::string> text = as_text(entry.value);
    Problem problem = text ? row->take(run, *text) : Problem{"must be one value", {}};
    if (!problem.message.empty()) {
      diagnostics.error(entry.value.place, std::move(problem.message), std::move(problem.hint));
    }
  }
  return run;
}

RunOptions read_run_options(const std::vector<GivenOption>& given, Diagnostics& diagnostics) {
  RunOptions run;
  for (const GivenOption& option : given) {
    Place place;
    place.key = "--" + option.name;
    const Row* row = find_row(option.name);
    Problem problem = row ? row->take(run, option.value)
                          : Problem{"unknown run option", did_you_mean(option.name, run_option_names())};
    if (!problem.message.empty()) {
      diagnostics.error(std::move(place), std::move(problem.message), std::move(problem.hint));
    }
  }
  return run;
}

}  // namespace llmcalc
