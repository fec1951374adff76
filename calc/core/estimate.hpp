// The one entry point: a model, a device or none, and the options of a job; a report.
#pragma once

#include "core/device.hpp"
#include "core/model_source.hpp"
#include "core/report.hpp"
#include "core/run.hpp"

namespace llmcalc {

// Throws Error(bad_input) for options that make no sense for the model or the device.
Report estimate(const ModelSource& model, const Device* device, const RunOptions& options);

}  // namespace llmcalc
