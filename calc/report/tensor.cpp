#include "report/tensor.hpp"

#include "core/quantity.hpp"
#include "report/page.hpp"

namespace llmcalc::report {

namespace {

using expression::TensorHistory;
using expression::TensorStep;

// "x" for the storage of the first tensor, "copy 1" and so on for the others.
std::string storage_name(std::size_t storage) { return storage == 0 ? "x" : "copy " + std::to_string(storage); }

std::string factors(const Dims& shape) {
  std::string text;
  for (const Count length : shape) text += (text.empty() ? "" : " · ") + std::to_string(length);
  return text.empty() ? "1 (no axis)" : text;
}

void explain_first(const TensorStep& x, Page& page) {
  const Int128 width = size_of(x.dtype).value();
  page.heading("Why");
  page.bullet("elements = product of the lengths = " + factors(x.layout.shape) + " = " + format_count(x.elements()));
  page.bullet("bytes = elements · bytes of one " + std::string(name_of(x.dtype)) + " = " + format_count(x.elements()) +
              " · " + to_string(width) + " = " + format_count(x.bytes()));
  for (int i = 0; i < x.layout.shape.rank(); ++i) {
    Dims behind;
    for (int j = i + 1; j < x.layout.shape.rank(); ++j) behind.push_back(x.layout.shape[j]);
    page.bullet("stride of axis " + std::to_string(i) +
                " = product of the lengths behind it = " + (behind.empty() ? "1 (none)" : factors(behind)) +
                (behind.rank() > 1 ? " = " + std::to_string(x.layout.stride[i]) : ""));
  }
}

void explain_steps(const TensorHistory& history, Page& page) {
  for (std::size_t i = 1; i < history.steps.size(); ++i) {
    const TensorStep &before = history.steps[i - 1], &step = history.steps[i];
    if (step.storage != before.storage) {
      page.bullet(step.op + " copies: a storage of its own, " + format_count(step.elements()) + " · " +
                  to_string(size_of(step.dtype)) + " = " + format_count(step.bytes()) + " B");
    } else {
      page.bullet(step.op + " is a view: the element (i, j, …) lies at offset " + std::to_string(step.layout.offset) +
                  " + i · " + (step.layout.stride.empty() ? std::string("0") : std::to_string(step.layout.stride[0])) +
                  (step.layout.stride.rank() > 1 ? " + j · " + std::to_string(step.layout.stride[1]) : "") +
                  (step.layout.stride.rank() > 2 ? " + …" : "") + " of the same storage");
    }
  }
}

}  // namespace

Json dims_json(const Dims& dims) {
  Json list = Json::array();
  for (const Count n : dims) list.push(n);
  return list;
}

std::string bytes_three_ways(Int128 bytes) {
  constexpr double mebi = 1024.0 * 1024.0, mega = 1e6;
  constexpr int figures = 4;
  const auto value = static_cast<double>(bytes);
  return format_count(bytes) + " B (" + format_significant(value / mebi, figures) + " MiB, " +
         format_significant(value / mega, figures) + " MB)";
}

Json tensor_json(const TensorHistory& history) {
  Json steps = Json::array();
  for (const TensorStep& step : history.steps) {
    Json one = Json::object();
    one.set("op", step.op)
        .set("shape", dims_json(step.layout.shape))
        .set("stride", dims_json(step.layout.stride))
        .set("offset", step.layout.offset)
        .set("dtype", name_of(step.dtype))
        .set("contiguous", step.layout.is_contiguous())
        .set("shares_storage", step.shares_storage())
        .set("elements", step.elements())
        .set("bytes", step.bytes())
        .set("storage_bytes", history.storage_bytes[step.storage]);
    steps.push(std::move(one));
  }
  Json json = Json::object();
  json.set("schema", "llmcalc.tensor/1").set("steps", std::move(steps));
  return json.set("distinct_storage_bytes", history.distinct_storage_bytes());
}

Table tensor_table(const TensorHistory& history) {
  Table table{{{"step"},
               {"shape"},
               {"stride"},
               {"offset", Align::right},
               {"dtype"},
               {"contiguous"},
               {"storage"},
               {"bytes", Align::right},
               {"storage bytes", Align::right}},
              {}};
  for (const TensorStep& step : history.steps) {
    const Int128 held = history.storage_bytes[step.storage];
    table.rows.push_back({step.op, to_string(step.layout.shape), to_string(step.layout.stride),
                          Cell(format_count(step.layout.offset), step.layout.offset), std::string(name_of(step.dtype)),
                          step.layout.is_contiguous() ? "yes" : "no", storage_name(step.storage),
                          Cell(format_count(step.bytes()), step.bytes()), Cell(format_count(held), held)});
  }
  return table;
}

std::string tensor_text(const TensorHistory& history, bool explain, bool markdown, Style style) {
  const TensorStep& x = history.steps.front();
  Page page;
  page.title("x: " + to_string(x.layout.shape) + " of " + std::string(name_of(x.dtype)));
  page.line("rank " + std::to_string(x.layout.shape.rank()) + ", " + format_count(x.elements()) +
            (x.elements() == 1 ? " element, " : " elements, ") + bytes_three_ways(x.bytes()));
  page.heading(history.steps.size() > 1 ? "Steps" : "Layout");
  page.table(tensor_table(history));
  const std::size_t storages = history.storage_bytes.size();
  if (history.steps.size() > 1) {
    page.heading("Storage");
    page.line(storages == 1 ? "All in one storage: " + bytes_three_ways(history.distinct_storage_bytes())
                            : std::to_string(storages) +
                                  " distinct storages: " + bytes_three_ways(history.distinct_storage_bytes()));
  }
  if (explain) {
    explain_first(x, page);
    explain_steps(history, page);
  }
  return markdown ? page.as_markdown() : page.as_text(style);
}

}  // namespace llmcalc::report
