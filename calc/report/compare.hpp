// The writers of `compare`: one job on several devices.
#pragma once

#include <string>
#include <vector>

#include "core/device.hpp"
#include "core/report.hpp"
#include "report/json.hpp"
#include "report/page.hpp"

namespace llmcalc::report {

struct Compared {
  const Device* device = nullptr;
  Report report;
  std::optional<double> usd_per_hour;

  double tokens_per_second() const;  // 0: no time
  std::optional<double> tokens_per_dollar() const;
  std::optional<double> tokens_per_joule() const;  // at the board's power limit
  bool does_not_fit() const { return report.fit && report.fit->verdict == Verdict::no; }
};

// By step, mfu, tokens-per-second, tokens-per-dollar or tokens-per-joule, the best first; devices that the job does not
// fit stand behind those it fits, and those nothing is known of at the end.
void sort_compared(std::vector<Compared>& rows, const std::string& by);
std::vector<std::string> sort_names();

Table compare_table(const std::vector<Compared>& rows);
Page compare_page(const std::vector<Compared>& rows);
void explain_compare(const std::vector<Compared>& rows, Page& page);  // what --explain adds
Json compare_json(const std::vector<Compared>& rows);

}  // namespace llmcalc::report
