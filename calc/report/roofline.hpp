// The writers of a roofline: text or Markdown, tables for CSV, and the JSON of docs/reference/schema/roofline.json.
#pragma once

#include "core/roofline.hpp"
#include "report/json.hpp"
#include "report/page.hpp"

namespace llmcalc::report {

// One intensity under one peak and one bandwidth; without an intensity the ridge alone.
struct RooflineQuestion {
  FlopsPerSecond peak;
  BytesPerSecond bandwidth;
  std::optional<FlopsPerByte> intensity;
};
Json point_json(const RooflineQuestion& question);
Page point_page(const RooflineQuestion& question);

Json roofline_json(const RooflineReport& report);
Page roofline_page(const RooflineReport& report);
// What --explain adds: how a ridge, an intensity, a bound and the times come about.
void explain_roofline(const RooflineReport& report, Page& page);
void explain_point(const RooflineQuestion& question, Page& page);

Table ceilings_table(const RooflineReport& report);
Table sweep_table(const RooflineReport& report);
// The `most` longest operations, the rest summed in one row; 0: all.
Table operations_table(const RooflineReport& report, std::size_t most);

// "layers.mlp.down_proj mm"
std::string operation_label(const RooflineOperation& operation);

}  // namespace llmcalc::report
