#include "cli/lists.hpp"

#include "core/model_source.hpp"
#include "core/optimizer.hpp"
#include "core/precision.hpp"
#include "core/quantity.hpp"
#include "core/rules.hpp"
#include "read/load.hpp"

namespace llmcalc::cli {

namespace {

using report::Align;
using report::Cell;
using report::Table;

Cell short_count(Count count) { return {format_short_count(count), count}; }

Table models(bool for_data) {
  Table table{{{"id"},
               {"parameters", Align::right},
               {"active", Align::right, "active_parameters"},
               {"layers", Align::right},
               {"context", Align::right},
               {"architecture"}},
              {}};
  if (for_data) table.columns.insert(table.columns.end(), {{"name"}, {"source"}});
  for (const std::string& id : built_in_model_ids()) {
    Diagnostics ignored;  // built-in profiles are checked by the tests
    const Document document = load_model_document(id, ignored);
    const ModelSource source = read_model(document.root, document.source, document.yaml, id, std::nullopt, ignored);
    std::vector<Cell> row{id};
    if (source.model) {
      const ParameterCounts counts = count_parameters(source.model->parameters);
      const ModelInfo& info = source.model->info;
      row.insert(row.end(), {short_count(counts.total),
                             short_count(counts.active),
                             {std::to_string(info.layers), info.layers},
                             info.max_seq > 0 ? Cell(format_count(info.max_seq), info.max_seq) : Cell(""),
                             std::string(source.architecture->name)});
    } else {  // known only by its size
      row.insert(row.end(), {short_count(*source.parameters),
                             short_count(source.active_parameters.value_or(*source.parameters)), "", "", ""});
    }
    if (for_data) {
      const Value* origin = document.root.find("source");
      row.insert(row.end(), {source.name, origin ? origin->text : ""});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

// The rate people compare devices by: bf16, or the best lower precision it has before fp32.
Cell sixteen_bit_peak(const Device& device, std::string& dtype) {
  for (const char* key : {"bf16", "fp16", "fp32"}) {
    const auto found = device.peak.find(key);
    if (found == device.peak.end()) continue;
    dtype = key;
    return {format_rate(found->second), found->second};
  }
  return "";
}

Table devices(bool) {
  Table table{{{"id"},
               {"name"},
               {"memory", Align::right, "memory_bytes"},
               {"bandwidth", Align::right, "bytes_per_second"},
               {"dense peak", Align::right, "flops_per_second"},
               {"of", Align::left, "peak_dtype"},
               {"$/hour", Align::right, "usd_per_hour"}},
              {}};
  for (const std::string& id : built_in_device_ids()) {
    const Device device = built_in_device(id);
    const Bytes memory = device.usable_memory();
    std::string dtype;
    const Cell peak = sixteen_bit_peak(device, dtype);
    table.rows.push_back(
        {id, device.name, memory.value() > 0 ? Cell(format_gib(memory), memory) : Cell(""),
         device.memory_bandwidth ? Cell(format_rate(*device.memory_bandwidth), *device.memory_bandwidth) : Cell(""),
         peak, dtype, device.price ? Cell(format_fixed(device.price->value(), 2), *device.price) : Cell("")});
  }
  return table;
}

Table architectures_table(bool) {
  Table table{{{"architecture"}, {"status"}, {"what sets it apart", Align::left, "summary"}}, {}};
  for (const Architecture& architecture : architectures()) {
    table.rows.push_back(
        {std::string(architecture.name), std::string(name_of(architecture.status)), std::string(architecture.summary)});
  }
  return table;
}

Table optimizers_table(bool) {
  Table table{{{"optimizer"}, {"what it keeps", Align::left, "summary"}}, {}};
  for (const Optimizer& o : optimizers()) table.rows.push_back({std::string(o.name), std::string(o.summary)});
  return table;
}

Cell dtype_cell(std::optional<DType> dtype) { return dtype ? std::string(name_of(*dtype)) : std::string(); }

Table precisions_table(bool) {
  Table table{
      {{"precision"}, {"weight"}, {"gradient"}, {"master copy"}, {"autocast"}, {"what it is", Align::left, "summary"}},
      {}};
  for (const Precision& p : precisions()) {
    table.rows.push_back({std::string(p.name), dtype_cell(p.weight), dtype_cell(p.gradient), dtype_cell(p.master),
                          dtype_cell(p.autocast), std::string(p.summary)});
  }
  return table;
}

}  // namespace

Table rules_table(bool for_data) {
  Table table{{{"name"}, {"gives"}, {"formula"}}, {}};
  if (for_data) table.columns.push_back({"example"});
  for (const Rule& rule : rules()) {
    table.rows.push_back({rule.name, rule.title, rule_formulas(rule).front()});
    if (for_data) table.rows.back().emplace_back(rule.example);
  }
  return table;
}

const std::vector<List>& lists() {
  static const std::vector<List> all = {{"models", models},
                                        {"devices", devices},
                                        {"architectures", architectures_table},
                                        {"optimizers", optimizers_table},
                                        {"precisions", precisions_table},
                                        {"rules", rules_table}};
  return all;
}

}  // namespace llmcalc::cli
