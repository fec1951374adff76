#include "cli/output_table.hpp"

#include "report/json.hpp"

namespace llmcalc::cli {

void write_table(const std::string& name, const report::Table& table, Output& output) {
  switch (output.format) {
    case Format::text: output.out += report::text_table(table, output.colour, output.width); break;
    case Format::markdown: output.out += report::markdown_table(table); break;
    case Format::csv: output.out += report::csv_table(table); break;
    case Format::json:
      output.out +=
          report::Json::object().set("schema", "llmcalc." + name + "/1").set(name, report::json_table(table)).dump();
      break;
  }
}

}  // namespace llmcalc::cli
