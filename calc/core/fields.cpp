#include "core/fields.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/quantity.hpp"
#include "core/suggest.hpp"

namespace llmcalc {
namespace {

// "0.1", not "0.100000".
std::string shortest(double value) {
  constexpr int figures = 6;
  std::string text = format_significant(value, figures);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

const char* kind_name(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::null: return "null";
    case Value::Kind::boolean: return "true or false";
    case Value::Kind::integer:
    case Value::Kind::real: return "a number";
    case Value::Kind::text: return "text";
    case Value::Kind::list: return "a list";
    case Value::Kind::map: return "a map";
  }
  return "something else";
}

// What stands there, for "must be ..., not ...".
std::string shown(const Value& value) {
  const bool scalar =
      value.kind == Value::Kind::integer || value.kind == Value::Kind::real || value.kind == Value::Kind::boolean;
  if (scalar && !value.text.empty()) return value.text.size() > 40 ? kind_name(value.kind) : value.text;
  if (value.kind == Value::Kind::text) return in_quotes(value.text);
  return kind_name(value.kind);
}

bool same_scalar(const Value& a, const Value& b) {
  return a.kind == b.kind && a.text == b.text && a.list.empty() && b.list.empty() && a.map.empty() && b.map.empty();
}

}  // namespace

Fields::Fields(const Value& root, Diagnostics& diagnostics, std::string path)
    : root_(&root), diagnostics_(&diagnostics), path_(std::move(path)) {
  if (root.kind == Value::Kind::map) return;
  Place place = root.place;
  if (place.key.empty()) place.key = path_;
  diagnostics.error(std::move(place), std::string("must be a map of keys and values, not ") + kind_name(root.kind));
}

std::string Fields::full(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

Place Fields::place(std::string_view key) const {
  const Value* value = root_->find(key);
  Place place = value ? value->place : root_->place;
  if (!value || place.key.empty()) place.key = full(key);
  return place;
}

void Fields::know(const KeyNames& key) const {
  for (std::string_view name : key.all()) {
    if (std::find(known_.begin(), known_.end(), name) == known_.end()) known_.emplace_back(name);
  }
}

const Value* Fields::look_up(const KeyNames& key) const {
  know(key);
  const Value* found = nullptr;
  std::string_view found_name;
  for (std::string_view name : key.all()) {
    const Value* value = root_->find(name);
    if (!value) continue;
    if (found && !same_scalar(*found, *value)) {
      diagnostics_->error(place(name), "contradicts " + std::string(found_name) + ", which means the same");
    }
    if (!found) found = value, found_name = name;
  }
  return found;
}

void Fields::assume(const KeyNames& key, std::string value) {
  const auto same = [&](const Assumed& a) { return a.key == key.own(); };
  if (std::none_of(assumed_.begin(), assumed_.end(), same)) {
    assumed_.push_back({std::string(key.own()), std::move(value)});
  }
}

void Fields::wrong(const Value& value, const KeyNames& key, std::string message, std::string hint) const {
  Place place = value.place;
  if (place.key.empty()) place.key = full(key.own());
  diagnostics_->error(std::move(place), std::move(message), std::move(hint));
  stand_ins_ = true;
}

std::optional<Count> Fields::whole(const Value& value, const KeyNames& key, Count least, Count most) const {
  Count count = 0;
  switch (value.kind) {
    case Value::Kind::integer: count = value.integer; break;
    case Value::Kind::real:
    case Value::Kind::text: {
      Parsed<Count> parsed = parse_count(value.text);
      if (value.kind == Value::Kind::text && parse_number(value.text)) {
        wrong(value, key, "must be a whole number, not text", "write it without quotes");
        return std::nullopt;
      }
      if (!parsed) {
        wrong(value, key, std::move(parsed.message), std::move(parsed.hint));
        return std::nullopt;
      }
      count = *parsed;
      break;
    }
    default: wrong(value, key, "must be a whole number, not " + shown(value)); return std::nullopt;
  }
  if (count < least) {
    wrong(value, key, "must be at least " + std::to_string(least) + ", not " + std::to_string(count));
    return std::nullopt;
  }
  if (count > most) {
    wrong(value, key, std::to_string(count) + " is too large; at most " + format_count(most) + " is accepted");
    return std::nullopt;
  }
  return count;
}

std::optional<double> Fields::finite(const Value& value, const KeyNames& key) const {
  const bool number = value.kind == Value::Kind::integer || value.kind == Value::Kind::real;
  if (number && std::isfinite(value.real)) return value.real;
  wrong(value, key, "must be a finite number, not " + shown(value));
  return std::nullopt;
}

Count Fields::required(const KeyNames& key, Count most) {
  if (const Value* value = look_up(key)) return whole(*value, key, 1, most).value_or(1);
  std::string others;
  if (key.all().size() > 1) {
    others = "or under the name " + join({key.all().begin() + 1, key.all().end()}, "or");
  }
  error(key, "is required and missing", others);
  stand_ins_ = true;
  return 1;
}

Count Fields::defaulted(const KeyNames& key, Count assumed, Count least, Count most) {
  if (const Value* value = look_up(key)) return whole(*value, key, least, most).value_or(std::max(assumed, least));
  assume(key, std::to_string(assumed));
  return assumed;
}

Count Fields::count(const KeyNames& key) { return required(key, largest_count); }
Count Fields::count(const KeyNames& key, Count assumed) { return defaulted(key, assumed, 1, largest_count); }
Count Fields::count_or_zero(const KeyNames& key, Count assumed) { return defaulted(key, assumed, 0, largest_count); }
Count Fields::total(const KeyNames& key) { return required(key, largest_total); }
Count Fields::layers(const KeyNames& key) { return required(key, most_layers); }
Count Fields::layers(const KeyNames& key, Count assumed) { return defaulted(key, assumed, 1, most_layers); }

std::optional<Count> Fields::optional_count(const KeyNames& key, std::optional<Count> assumed) {
  if (const Value* value = look_up(key)) {
    return value->is_null() ? std::nullopt : whole(*value, key, 1, largest_count);
  }
  assume(key, assumed ? std::to_string(*assumed) : "none");
  return assumed;
}

bool Fields::flag(const KeyNames& key, bool assumed) {
  const Value* value = look_up(key);
  if (!value) {
    assume(key, assumed ? "true" : "false");
    return assumed;
  }
  if (value->is_null()) return false;
  if (value->kind == Value::Kind::boolean) return value->boolean;
  wrong(*value, key, "must be true or false, not " + shown(*value));
  return assumed;
}

double Fields::number(const KeyNames& key, double assumed) {
  if (const Value* value = look_up(key)) return finite(*value, key).value_or(assumed);
  assume(key, shortest(assumed));
  return assumed;
}

double Fields::rate(const KeyNames& key, double assumed) {
  const double value = number(key, assumed);
  if (value >= 0 && value <= 1) return value;
  error(key, "must be from 0 to 1, not " + shortest(value));
  return assumed;
}

std::optional<double> Fields::optional_number(const KeyNames& key, std::optional<double> assumed) {
  if (const Value* value = look_up(key)) return value->is_null() ? std::nullopt : finite(*value, key);
  assume(key, assumed ? shortest(*assumed) : "none");
  return assumed;
}

std::string Fields::text(const KeyNames& key, std::string_view assumed) {
  const Value* value = look_up(key);
  if (!value) {
    assume(key, std::string(assumed));
    return std::string(assumed);
  }
  if (value->kind == Value::Kind::text) return value->text;
  wrong(*value, key, "must be text, not " + shown(*value));
  return std::string(assumed);
}

std::vector<Count> Fields::counts(const KeyNames& key) {
  std::vector<Count> result;
  const Value* value = look_up(key);
  if (!value || value->is_null()) return result;
  if (value->kind != Value::Kind::list) wrong(*value, key, "must be a list of whole numbers, not " + shown(*value));
  for (const Value& item : value->list) result.push_back(whole(item, key, 0, largest_count).value_or(0));
  return result;
}

std::vector<std::string> Fields::texts(const KeyNames& key) {
  std::vector<std::string> result;
  const Value* value = look_up(key);
  if (!value || value->is_null()) return result;
  if (value->kind != Value::Kind::list) wrong(*value, key, "must be a list of names, not " + shown(*value));
  for (const Value& item : value->list) {
    if (item.kind != Value::Kind::text) wrong(item, key, "must be text, not " + shown(item));
    result.push_back(item.text);
  }
  return result;
}

bool Fields::has(const KeyNames& key) const {
  know(key);
  return std::any_of(key.all().begin(), key.all().end(), [&](std::string_view n) { return root_->find(n) != nullptr; });
}

bool Fields::is_null(const KeyNames& key) const {
  const Value* value = look_up(key);
  return value && value->is_null();
}

const Value* Fields::raw(const KeyNames& key) { return look_up(key); }

void Fields::ignore(const KeyNames& key) { know(key); }

void Fields::ignore(std::initializer_list<const char*> keys) {
  for (const char* key : keys) know(key);
}

void Fields::error(const KeyNames& key, std::string message, std::string hint) {
  diagnostics_->error(place(present(key)), std::move(message), std::move(hint));
}

void Fields::warning(const KeyNames& key, std::string message, std::string hint) {
  diagnostics_->warning(place(present(key)), std::move(message), std::move(hint));
}

std::string_view Fields::present(const KeyNames& key) const {
  for (std::string_view name : key.all()) {
    if (root_->find(name)) return name;
  }
  return key.own();
}

std::vector<std::string> Fields::unread() const {
  std::vector<std::string> result;
  for (const Entry& entry : root_->map) {
    if (std::find(known_.begin(), known_.end(), entry.key) == known_.end()) result.push_back(entry.key);
  }
  return result;
}

Place Fields::key_place(std::string_view key) const {
  for (const Entry& entry : root_->map) {
    if (entry.key != key) continue;
    Place place = entry.key_place;
    if (place.key.empty()) place.key = full(key);
    return place;
  }
  return place(key);
}

}  // namespace llmcalc
