// Number formats, and how each stores a value, as `llmcalc dtype` shows them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/number_format/stored.hpp"
#include "report/json.hpp"
#include "report/table.hpp"

namespace llmcalc::report {

struct AskedValue {
  std::string text;  // as it was written
  number_format::ExactValue value;
};

using FormatList = std::vector<const number_format::Format*>;

Json formats_json(const FormatList& formats, const std::optional<AskedValue>& value);
Table formats_table(const FormatList& formats);
Table stored_table(const FormatList& formats, const AskedValue& value);
std::string formats_text(const FormatList& formats, const std::optional<AskedValue>& value, bool explain, bool markdown,
                         Style style);

}  // namespace llmcalc::report
