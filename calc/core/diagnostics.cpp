#include "core/diagnostics.hpp"

#include <algorithm>
#include <utility>

namespace llmcalc {

std::string to_string(const Diagnostic& d) {
  std::string text;
  if (!d.place.file.empty()) text += d.place.file + ":";
  if (d.place.line > 0) text += std::to_string(d.place.line) + ":";
  if (d.place.line > 0 && d.place.column > 0) text += std::to_string(d.place.column) + ":";
  if (!text.empty()) text += " ";
  text += d.severity == Severity::error ? "error: " : "warning: ";
  if (!d.place.key.empty()) text += d.place.key + ": ";
  text += d.message;
  if (!d.hint.empty()) text += "\nhint: " + d.hint;
  return text;
}

Error::Error(Exit exit, std::vector<Diagnostic> diagnostics) : exit_(exit), diagnostics_(std::move(diagnostics)) {
  for (const Diagnostic& d : diagnostics_) {
    if (!text_.empty()) text_ += '\n';
    text_ += to_string(d);
  }
}

Error::Error(Exit exit, std::string message, std::string hint)
    : Error(exit, {Diagnostic{Severity::error, {}, std::move(message), std::move(hint)}}) {}

void Diagnostics::error(Place place, std::string message, std::string hint) {
  all_.push_back({Severity::error, std::move(place), std::move(message), std::move(hint)});
}

void Diagnostics::warning(Place place, std::string message, std::string hint) {
  all_.push_back({Severity::warning, std::move(place), std::move(message), std::move(hint)});
}

bool Diagnostics::has_errors() const {
  return std::any_of(all_.begin(), all_.end(), [](const Diagnostic& d) { return d.severity == Severity::error; });
}

void Diagnostics::throw_if_errors() const {
  if (has_errors()) throw Error(Exit::bad_input, all_);
}

}  // namespace llmcalc
