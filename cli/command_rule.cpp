// `llmcalc rule [NAME key=value...]`: one rule of thumb with the values put in; with no name, the list.
#include "cli/all_commands.hpp"
#include "cli/lists.hpp"
#include "cli/output_table.hpp"
#include "core/rules.hpp"
#include "core/suggest.hpp"
#include "report/json.hpp"
#include "report/layout.hpp"
#include "report/table.hpp"

namespace llmcalc::cli {

namespace {

using report::Json;

void write_list(Output& output) {
  if (output.format == Format::markdown) {
    output.out += rules_as_markdown();
    return;
  }
  write_table("rules", rules_table(output.format != Format::text), output);
  if (output.format == Format::text) {
    output.out += "\nllmcalc rule NAME key=value... computes one; docs/reference/rules.md says what each stands for.\n";
  }
}

Json json_number(const Number& value) { return value.is_integer() ? Json(value.integer()) : Json(value.as_double()); }

void set_unit(Json& json, Dimension unit) {
  if (!unit.is_none()) json.set("unit", to_string(unit));
}

Json to_json(const RuleAnswer& answer) {
  Json inputs = Json::array();
  for (const RuleInput& input : answer.inputs) {
    Json one = Json::object();
    one.set("key", input.symbol->key).set("sign", input.symbol->sign).set("meaning", input.symbol->meaning);
    if (input.symbol->kind == SymbolKind::wholes) {
      Json values = Json::array();
      for (const Number& value : input.values) values.push(json_number(value));
      one.set("values", std::move(values));
    } else {
      one.set("value", json_number(input.values.front()));
    }
    set_unit(one, input.symbol->unit);
    one.set("text", input.text);
    if (input.assumed) one.set("assumed", true);
    inputs.push(std::move(one));
  }
  Json values = Json::array();
  for (const RuleValue& value : answer.values) {
    Json one = Json::object();
    one.set("key", value.key)
        .set("sign", value.sign)
        .set("meaning", value.meaning)
        .set("value", json_number(value.value));
    set_unit(one, value.unit);
    one.set("symbolic", value.symbolic).set("substituted", value.substituted).set("text", value.text);
    if (!value.note.empty()) one.set("note", value.note);
    values.push(std::move(one));
  }
  Json json = Json::object();
  json.set("schema", "llmcalc.rule/1").set("name", answer.rule->name).set("title", answer.rule->title);
  json.set("inputs", std::move(inputs));
  if (!answer.solved_for.empty()) json.set("solved_for", answer.solved_for);
  json.set("values", std::move(values));
  return json.set("scope", answer.rule->scope).set("caution", answer.rule->caution).set("source", answer.rule->source);
}

// "Caution: …", wrapped under its own text.
std::string paragraph(const std::string& label, std::string_view text, std::size_t width) {
  constexpr std::size_t label_width = 9;
  std::string lines;
  for (const std::string& line : report::wrap(text, width - label_width)) {
    lines += report::pad_right(lines.empty() ? label : "", label_width) + line + "\n";
  }
  return lines;
}

// The formula, then with numbers, then the result, one under the other.
std::string derivation(const RuleValue& value, const std::string& indent) {
  const std::string under = indent + std::string(report::display_width(value.sign), ' ') + " = ";
  std::string text = indent + value.symbolic + "\n" + under + value.substituted + "\n" + under + value.text + "\n";
  if (!value.note.empty()) text += indent + "(" + value.note + ")\n";
  return text;
}

std::string to_text(const RuleAnswer& answer, std::size_t width) {
  const Rule& rule = *answer.rule;
  std::string text = rule.title;
  if (!answer.solved_for.empty()) text += ", solved for " + answer.solved_for;
  text += "\n\n";
  std::size_t sign_width = 0;
  std::size_t value_width = 0;
  for (const RuleInput& input : answer.inputs) {
    sign_width = std::max(sign_width, report::display_width(input.symbol->sign));
    value_width = std::max(value_width, report::display_width(input.text));
  }
  for (const RuleInput& input : answer.inputs) {
    text += "  " + report::pad_right(input.symbol->sign, sign_width) + " = " +
            report::pad_right(input.text, value_width) + "  " + input.symbol->meaning +
            (input.assumed ? " (assumed)" : "") + "\n";
  }
  std::string heading;
  for (const RuleValue& value : answer.values) {
    text += value.meaning == heading ? "\n" : "\n  " + value.meaning + ":\n";
    text += derivation(value, "  ");
    heading = value.meaning;
  }
  return text + "\n" + paragraph("Scope:", rule.scope, width) + paragraph("Caution:", rule.caution, width) +
         paragraph("Source:", rule.source, width);
}

std::string to_markdown(const RuleAnswer& answer) {
  const Rule& rule = *answer.rule;
  report::Table inputs;
  inputs.columns = {{"key"}, {"in the formula"}, {"value"}, {"meaning"}};
  for (const RuleInput& input : answer.inputs) {
    inputs.rows.push_back({input.symbol->key, input.symbol->sign, input.text + (input.assumed ? " (assumed)" : ""),
                           input.symbol->meaning});
  }
  std::string text = "## " + std::string(rule.title) + "\n\n" + report::markdown_table(inputs) + "\n```\n";
  for (const RuleValue& value : answer.values) text += derivation(value, "");
  return text + "```\n\nScope: " + rule.scope + "\n\nCaution: " + rule.caution + "\n\nSource: " + rule.source + ".\n";
}

std::vector<std::pair<std::string, std::string>> key_values(const std::vector<std::string>& words) {
  std::vector<std::pair<std::string, std::string>> pairs;
  Diagnostics problems;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      problems.error({}, in_quotes(word) + " is not of the form key=value", "for example tokens=10B");
    } else {
      pairs.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    }
  }
  problems.throw_if_errors();
  return pairs;
}

Exit run_rule(const Arguments& arguments, Output& output) {
  const auto name = arguments.get("NAME");
  if (!name) {
    write_list(output);
    return Exit::done;
  }
  const RuleAnswer answer = apply_rule(rule_named(*name), key_values(arguments.all("KEY=VALUE")));
  switch (output.format) {
    case Format::text: output.out += to_text(answer, output.width); break;
    case Format::markdown: output.out += to_markdown(answer); break;
    case Format::csv: output.out += to_json(answer).flat_csv(); break;
    case Format::json: output.out += to_json(answer).dump(); break;
  }
  return Exit::done;
}

}  // namespace

Command rule_command() {
  Command command;
  command.name = "rule";
  command.summary = "one rule of thumb with the values put in; with no name, the list";
  command.description =
      "Shows the formula, the formula with the values put in, and the result. Values carry units: 100TFLOP/s, 1TB/s, "
      "40%, "
      "10B.\n\n"
      "Give a result and leave out one symbol, and the rule is solved for that symbol: training time, MFU, devices and "
      "tokens from one another. key=? names the unknown where several symbols have defaults.";
  command.examples = {"llmcalc rule training_time parameters=1B tokens=10B peak=100TFLOP/s mfu=40%",
                      "llmcalc rule training_time parameters=1B tokens=10B peak=100TFLOP/s mfu=40% time=1day devices=?",
                      "llmcalc rule 16n parameters=7B recipe=adamw-bf16-master", "llmcalc rule"};
  command.positionals = {
      {.name = "NAME", .help = "the rule; without it, all of them are listed", .required = false},
      {.name = "KEY=VALUE", .help = "its symbols, and a result to solve from", .required = false, .repeated = true}};
  command.explains = true;
  command.run = run_rule;
  return command;
}

}  // namespace llmcalc::cli
