// Answers of `llmcalc explain SIZE MODEL`.
#pragma once

#include <string>
#include <vector>

#include "core/size_search.hpp"
#include "report/json.hpp"
#include "report/page.hpp"

namespace llmcalc::report {

Json size_json(const std::string& asked, Bytes size, double tolerance, const SizeAnswer& answer,
               const std::vector<SizeElsewhere>& elsewhere);
Page size_page(const std::string& model, const std::string& asked, Bytes size, double tolerance,
               const SizeAnswer& answer, const std::vector<SizeElsewhere>& elsewhere);

}  // namespace llmcalc::report
