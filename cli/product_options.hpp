// What matmul, einsum, rearrange, reduce and repeat have in common: options, and writing the result.
#pragma once

#include "cli/command.hpp"
#include "report/product.hpp"

namespace llmcalc::cli {

Option dtype_option(const char* shown_default);
Option device_option();

// The format named by --dtype. Throws Error(bad_input) with what was probably meant.
DType dtype_from(const Arguments& arguments, DType otherwise);

// Fills in the report's device from --device, with its peak for the report's dtype. Warnings go to `output`. Throws
// Error(bad_input): unknown device, no bandwidth, no peak for this dtype.
void set_device(const Arguments& arguments, report::ProductReport& product, Output& output);

// Shape, cost and explanation of a product of tensors.
report::ProductReport product_report(const einsum::Equation& equation, const std::vector<Dims>& shapes, DType dtype);

void write_product(const report::ProductReport& product, Output& output);

// rearrange and repeat: PATTERN SHAPE [axis=n...].
Command rearranging_command(einsum::Rearrangement kind, const char* name);
report::ProductReport rearranged_report(const Arguments& arguments, einsum::Rearrangement kind);

}  // namespace llmcalc::cli
