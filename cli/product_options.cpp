#include "cli/product_options.hpp"

#include <array>

#include "core/quantity.hpp"
#include "core/suggest.hpp"
#include "core/tensor_expression/expression.hpp"
#include "read/load.hpp"

namespace llmcalc::cli {

namespace {

// Where a profile states the rate of matrix products of a format, the better key first.
std::vector<std::string> peak_keys(DType dtype) {
  switch (dtype) {
    case DType::float64: return {"fp64_tensor", "fp64"};
    case DType::float32: return {"fp32"};
    case DType::bfloat16: return {"bf16"};
    case DType::float16: return {"fp16"};
    case DType::float8_e4m3fn:
    case DType::float8_e4m3fnuz:
    case DType::float8_e5m2:
    case DType::float8_e5m2fnuz: return {"fp8"};
    case DType::int8:
    case DType::uint8: return {"int8"};
    default: return {};
  }
}

std::string shapes_text(const std::vector<Dims>& shapes) {
  std::string text;
  for (const Dims& shape : shapes) text += (text.empty() ? "" : " × ") + to_string(shape);
  return text;
}

}  // namespace

Option dtype_option(const char* shown_default) {
  return {.name = "dtype",
          .value = "D",
          .help = "number format of the elements, by PyTorch's name or the short one",
          .shown_default = shown_default};
}

Option device_option() {
  return {.name = "device", .value = "DEVICE", .help = "say which side of this device's ridge the operation is on"};
}

DType dtype_from(const Arguments& arguments, DType otherwise) {
  const auto name = arguments.get("dtype");
  if (!name) return otherwise;
  constexpr std::string_view prefix = "torch.";
  const std::string bare = name->rfind(prefix, 0) == 0 ? name->substr(prefix.size()) : *name;
  if (const std::optional<DType> dtype = dtype_named(bare)) return *dtype;
  const std::vector<std::string> known = {"float64", "float32", "bfloat16", "float16", "float8_e4m3fn", "float8_e5m2",
                                          "int64",   "int32",   "int16",    "int8",    "uint8",         "bool",
                                          "fp64",    "fp32",    "bf16",     "fp16",    "e4m3fn",        "e5m2"};
  const std::string near = did_you_mean(bare, known);
  throw Error(Exit::bad_input, "--dtype: " + in_quotes(*name) + " is no number format of a tensor",
              near.empty() ? "formats of whole bytes: " + join(known) : near);
}

void set_device(const Arguments& arguments, report::ProductReport& product, Output& output) {
  const auto name = arguments.get("device");
  if (!name) return;
  Diagnostics diagnostics;
  const Device device = load_device(*name, diagnostics);
  output.warnings.insert(output.warnings.end(), diagnostics.all().begin(), diagnostics.all().end());
  if (!device.memory_bandwidth)
    throw Error(Exit::bad_input, device.name + ": its profile states no memory bandwidth, so there is no ridge");
  for (const std::string& key : peak_keys(product.dtype)) {
    const auto peak = device.peak.find(key);
    if (peak == device.peak.end()) continue;
    product.device = report::DeviceSide{device.name, key, peak->second, *device.memory_bandwidth};
    return;
  }
  std::vector<std::string> known;
  for (const auto& [key, rate] : device.peak) known.push_back(key);
  throw Error(Exit::bad_input, device.name + ": its profile states no peak for " + std::string(name_of(product.dtype)),
              "it states " + join(known) + "; choose with --dtype");
}

report::ProductReport product_report(const einsum::Equation& equation, const std::vector<Dims>& shapes, DType dtype) {
  const einsum::Problem problem = einsum::bind(equation, shapes);
  report::ProductReport product;
  product.dtype = dtype;
  product.shape = problem.shape;
  product.contraction = einsum::contract(problem);
  product.elements_in = problem.elements_in;
  product.elements_out = elements(problem.shape);
  product.title = einsum::to_string(equation) + ": " + shapes_text(shapes) + " → " + to_string(problem.shape);
  if (problem.operands.size() == 2) {
    const einsum::AxisSet both = problem.operands[0] & problem.operands[1];
    product.terms = problem.size(both & ~problem.output);
    const einsum::AxisSet all = problem.output | (both & ~problem.output);
    std::string names, numbers;
    for (std::size_t axis = 0; axis < problem.names.size(); ++axis) {
      if ((all >> axis & 1U) == 0) continue;
      names += (names.empty() ? "" : " · ") + problem.names[axis];
      numbers += (numbers.empty() ? "" : " · ") + std::to_string(problem.lengths[axis]);
    }
    product.multiply_adds = names + " = 2 · " + numbers;
  }
  return product;
}

void write_product(const report::ProductReport& product, Output& output) {
  switch (output.format) {
    case Format::json: output.out = report::product_json(product).dump(); break;
    case Format::csv: output.out = report::product_json(product).flat_csv(); break;
    case Format::markdown: output.out = report::product_text(product, output.explain, true, false); break;
    case Format::text: output.out = report::product_text(product, output.explain, false, output.style()); break;
  }
}

Command rearranging_command(einsum::Rearrangement kind, const char* name) {
  Command command;
  command.name = name;
  command.positionals = {{.name = "PATTERN", .help = "what is there -> what is wanted, axes parted by spaces"},
                         {.name = "SHAPE", .help = "of the tensor: 2,16,32 or (2,16,32)"},
                         {.name = "AXIS=LENGTH",
                          .help = kind == einsum::Rearrangement::repeat ? "lengths of new axes, and of split ones"
                                                                        : "lengths of axes that are split",
                          .required = false,
                          .repeated = true}};
  command.options = {dtype_option("bf16")};
  return command;
}

report::ProductReport rearranged_report(const Arguments& arguments, einsum::Rearrangement kind) {
  const einsum::Pattern pattern = einsum::parse_pattern(*arguments.get("PATTERN"), kind);
  const Dims shape = expression::parse_shape(*arguments.get("SHAPE"));
  const einsum::Rearranged done =
      einsum::apply(pattern, kind, shape, einsum::parse_axis_lengths(arguments.all("AXIS=LENGTH")));
  report::ProductReport product;
  product.dtype = dtype_from(arguments, DType::bfloat16);
  product.shape = done.shape;
  product.elements_in = done.elements_in;
  product.elements_out = done.elements_out;
  product.title = einsum::to_string(pattern) + ": " + to_string(shape) + " → " + to_string(done.shape);
  std::string lengths;
  for (const auto& [name, length] : done.lengths)
    if (name != std::to_string(length))
      lengths += (lengths.empty() ? "" : ", ") + name + " = " + std::to_string(length);
  if (!lengths.empty()) product.notes.push_back(lengths);
  if (kind != einsum::Rearrangement::reduce) {
    product.copies = done.copies;
    product.stride = done.stride;
    product.notes.emplace_back(done.copies ? "A copy: no strides show the elements in this order."
                                           : "A view: no element moves.");
  }
  return product;
}

}  // namespace llmcalc::cli
