#include "report/size_search.hpp"

#include <cmath>

#include "core/quantity.hpp"

namespace llmcalc::report {

namespace {

// "1 · 56 · 2048 · 2048 · 4 B"
std::string product(const SizedTensor& tensor) {
  std::string text = tensor.count > 1 ? std::to_string(tensor.count) + " x " : "";
  for (const Count length : tensor.shape) text += std::to_string(length) + " · ";
  const Count elements = llmcalc::elements(tensor.shape);
  const bool dense = size_of(tensor.dtype) * elements == tensor.bytes;
  return dense ? text + std::to_string(size_of(tensor.dtype).value()) + " B" : text + format_gib(tensor.bytes);
}

std::string in_words(const SizedTensor& tensor) {
  if (tensor.shape.empty()) return tensor.name;
  return tensor.name + " " + to_string(tensor.shape) + " " + std::string(name_of(tensor.dtype)) + ": " +
         product(tensor);
}

Json tensor_json(const SizedTensor& tensor) {
  Json json = Json::object().set("name", tensor.name);
  if (!tensor.shape.empty()) {
    json.set("shape", std::vector<Count>(tensor.shape.begin(), tensor.shape.end())).set("dtype", name_of(tensor.dtype));
  }
  return json.set("bytes", tensor.bytes).set("count", tensor.count);
}

std::string percent(double deviation) {
  return (deviation < 0 ? "-" : "+") + format_significant(100 * std::abs(deviation), 2) + " %";
}

}  // namespace

Json size_json(const std::string& asked, Bytes size, double tolerance, const SizeAnswer& answer,
               const std::vector<SizeElsewhere>& elsewhere) {
  Json matches = Json::array();
  for (const SizeMatch& match : answer.matches) {
    Json tensors = Json::array();
    for (const SizedTensor& tensor : match.tensors) tensors.push(tensor_json(tensor));
    Json one = Json::object().set("bytes", match.bytes).set("deviation", match.deviation);
    if (match.as_segment) one.set("rounded_by_allocator", true);
    matches.push(one.set("tensors", std::move(tensors)));
  }
  Json json = Json::object().set("schema", "llmcalc.explain/1").set("asked", asked).set("size", size);
  json.set("tolerance", tolerance).set("found", !answer.near).set("matches", std::move(matches));
  if (elsewhere.empty()) return json;
  Json others = Json::array();
  for (const SizeElsewhere& found : elsewhere)
    others.push(Json::object().set("options", found.options).set("tensor", tensor_json(found.tensor)));
  return json.set("elsewhere", std::move(others));
}

Page size_page(const std::string& model, const std::string& asked, Bytes size, double tolerance,
               const SizeAnswer& answer, const std::vector<SizeElsewhere>& elsewhere) {
  Page page;
  page.title(asked + " in " + model);
  const std::string within = tolerance > 0 ? " (to within " + format_significant(100 * tolerance, 2) + " %)" : "";
  page.line(format_both(size) + " is " + format_count(size.value()) + " B" + within + ".");
  if (answer.near) page.line("Nothing of this job is that big. Nearest:", Tone::warning);
  for (const SizeMatch& match : answer.matches) {
    std::string text;
    for (const SizedTensor& tensor : match.tensors) text += (text.empty() ? "" : " + ") + in_words(tensor);
    if (match.as_segment) text += ": " + format_both(match.bytes) + ", which the allocator rounds up to it";
    if (match.deviation != 0 && !match.as_segment)
      text += " = " + format_gib(match.bytes) + ", " + percent(match.deviation);
    page.bullet(text);
  }
  for (const SizeElsewhere& found : elsewhere) page.bullet("With " + found.options + ": " + in_words(found.tensor));
  return page;
}

}  // namespace llmcalc::report
