#include "report/params.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/quantity.hpp"
#include "report/layout.hpp"
#include "report/page.hpp"
#include "report/terminal.hpp"

namespace llmcalc::report {

namespace {

// "self_attn.q_proj.weight" belongs to the part "self_attn".
std::string part_of(const Parameter& parameter) { return parameter.name.substr(0, parameter.name.find('.')); }

// Elements of one layer of this kind by part, in the order of the tensors.
std::vector<std::pair<std::string, Count>> parts_of_layer(const Parameters& parameters, int kind) {
  std::vector<std::pair<std::string, Count>> parts;
  for (const Parameter& parameter : parameters.all()) {
    if (parameter.layer_kind != kind) continue;
    const std::string part = part_of(parameter);
    auto found = std::find_if(parts.begin(), parts.end(), [&](const auto& p) { return p.first == part; });
    if (found == parts.end()) found = parts.insert(parts.end(), {part, 0});
    found->second = checked::add(found->second, parameter.elements());
  }
  return parts;
}

Cell number(Count count) { return {format_count(count), count}; }

Cell share(Count part, Count total) {
  const double fraction = static_cast<double>(part) / static_cast<double>(total);
  return {format_percent(fraction), fraction};
}

void count_line(std::string& out, const std::string& label, Count count, const std::string& meaning) {
  constexpr std::size_t kLabel = 12, kNumber = 20;
  out += pad_right(label, kLabel) + pad_left(format_count(count), kNumber) + "  " + meaning + "\n";
}

}  // namespace

Json label_json(const ModelLabel& model) {
  Json json = Json::object().set("name", model.name).set("source", model.source);
  if (!model.architecture.empty()) json.set("architecture", model.architecture);
  if (!model.status.empty()) json.set("status", model.status);
  return json;
}

Json counts_json(const ParameterCounts& counts) {
  Json json = Json::object().set("total", counts.total).set("active", counts.active);
  // What a model has not (or, known only by its size, does not tell) is absent.
  const auto set_if_any = [&](const char* name, Count count) {
    if (count > 0) json.set(name, count);
  };
  set_if_any("compute", counts.compute);
  set_if_any("embedding", counts.embedding);
  set_if_any("positions", counts.positions);
  set_if_any("head", counts.head);
  set_if_any("prediction", counts.prediction);
  return json.set("tied", counts.tied).set("trainable", counts.trainable);
}

Json params_json(const ModelLabel& model, const Parameters& parameters, bool with_tensors) {
  Json json = Json::object().set("schema", "llmcalc.params/1").set("model", label_json(model));
  json.set("parameters", counts_json(count_parameters(parameters)));
  Json layers = Json::array();
  for (std::size_t k = 0; k < parameters.kinds().size(); ++k) {
    const LayerKind& kind = parameters.kinds()[k];
    Json parts = Json::object();
    for (const auto& [part, elements] : parts_of_layer(parameters, static_cast<int>(k))) parts.set(part, elements);
    layers.push(Json::object()
                    .set("kind", kind.name)
                    .set("count", kind.layers.size())
                    .set("parameters", layer_elements(parameters, static_cast<int>(k)))
                    .set("parts", std::move(parts)));
  }
  json.set("layers", std::move(layers));
  if (!with_tensors) return json;
  Json tensors = Json::array();
  for (const Parameter& parameter : parameters.all()) {
    tensors.push(Json::object()
                     .set("name", parameters.whole_name(parameter))
                     .set("shape", std::vector<Count>(parameter.shape.begin(), parameter.shape.end()))
                     .set("count", parameters.tensors(parameter)));
  }
  return json.set("tensors", std::move(tensors));
}

Table parts_table(const Parameters& parameters) {
  const Count total = count_parameters(parameters).total;
  Table table{{{"part"},
               {"one", Align::right, "elements_of_one"},
               {"how many", Align::right, "count"},
               {"in all", Align::right, "elements"},
               {"share", Align::right}},
              {}};
  const auto row = [&](std::string name, Count one, Count count) {
    const Count all = checked::multiply(one, count);
    table.rows.push_back({std::move(name), number(one), number(count), number(all), share(all, total)});
  };
  for (const Parameter& parameter : parameters.all()) {
    if (parameter.layer_kind < 0 && parameter.role != Role::head) row(parameter.name, parameter.elements(), 1);
  }
  for (std::size_t k = 0; k < parameters.kinds().size(); ++k) {
    const LayerKind& kind = parameters.kinds()[k];
    const Count layers = static_cast<Count>(kind.layers.size());
    row(kind.name + " layer", layer_elements(parameters, static_cast<int>(k)), layers);
    for (const auto& [part, elements] : parts_of_layer(parameters, static_cast<int>(k)))
      row("  " + part, elements, layers);
  }
  for (const Parameter& parameter : parameters.all()) {
    if (parameter.layer_kind < 0 && parameter.role == Role::head) row(parameter.name, parameter.elements(), 1);
  }
  return table;
}

Table tensors_table(const Parameters& parameters) {
  Table table{{{"tensor"}, {"shape"}, {"how many", Align::right, "count"}, {"elements", Align::right}}, {}};
  for (const Parameter& parameter : parameters.all()) {
    table.rows.push_back({parameters.whole_name(parameter), to_string(parameter.shape),
                          number(parameters.tensors(parameter)),
                          number(checked::multiply(parameters.instances(parameter), parameter.elements()))});
  }
  return table;
}

std::string params_text(const ModelLabel& model, const Parameters& parameters, bool with_tensors, bool markdown,
                        Style style) {
  const ParameterCounts counts = count_parameters(parameters);
  const auto table = [&](const Table& t) {
    return markdown ? markdown_table(t) : text_table(t, style.colour, style.width);
  };
  std::string out =
      markdown ? "## " + printable(model.name) + "\n\n```\n" : bold(printable(model.name), style.colour) + "\n";
  count_line(out, "total", counts.total, "every distinct tensor once");
  count_line(out, "active", counts.active, "used per token: without the routed experts it does not visit");
  count_line(out, "compute", counts.compute,
             "active, without look-up tables: what takes part in matrix multiplications");
  count_line(out, "embedding", counts.embedding,
             counts.tied ? "the token table, which is the head as well (counted once)" : "the token table");
  if (counts.positions > 0) count_line(out, "positions", counts.positions, "other look-up tables");
  if (!counts.tied && counts.head > 0) count_line(out, "head", counts.head, "the output projection");
  if (counts.prediction > 0)
    count_line(out, "prediction", counts.prediction, "in the total: heads of multi-token prediction");
  out += markdown ? "```\n\n" : "\n";
  out += table(parts_table(parameters));
  if (with_tensors) out += "\n" + table(tensors_table(parameters));
  return out;
}

std::string explain_params(const ModelLabel& model, const Parameters& parameters, bool markdown, Style style) {
  const ParameterCounts counts = count_parameters(parameters);
  std::string sum;
  for (const Parameter& parameter : parameters.all())
    if (parameter.layer_kind < 0) sum += (sum.empty() ? "" : " + ") + format_count(parameter.elements());
  for (std::size_t k = 0; k < parameters.kinds().size(); ++k)
    sum += " + " + format_count(static_cast<Count>(parameters.kinds()[k].layers.size())) + " · " +
           format_count(layer_elements(parameters, static_cast<int>(k)));
  Page page;
  page.heading("Explained");
  page.line("total = the sum over the tensors above = " + sum + " = " + format_count(counts.total));
  page.line("active = total - routed experts that a token does not visit = " + format_count(counts.total) + " - " +
            format_count(counts.total - counts.active) + " = " + format_count(counts.active));
  page.line("compute = active - tables that are only looked up = " + format_count(counts.active) + " - " +
            format_count(counts.active - counts.compute) + " = " + format_count(counts.compute));
  page.line("source: " + model.source + ", read as " + model.architecture + " (" + model.status + ")", Tone::faint);
  return markdown ? "\n" + page.as_markdown() : page.as_text(style);
}

}  // namespace llmcalc::report
