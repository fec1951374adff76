// From FLOPs and a device to time and money: a step, the whole training, its input and its checkpoints.
#pragma once

#include "core/resolve.hpp"

namespace llmcalc {

// Fills in report.time: with --mfu from the model FLOPs, else from the traced step's operations. `step` is null for a
// model known only by its size, which takes an MFU. What cannot be said goes to report.scope. Throws
// Error(bad_input) when the MFU comes out above 100 %.
void add_time(Report& report, const Resolved& resolved, const Device& device, const Model* model,
              const TracedStep* step);

// Device-hours, dollars and energy of report.time's training.
void add_cost(Report& report, const Resolved& resolved, const Device& device);

// Input to the device and checkpoints.
void add_transfers(Report& report, const Resolved& resolved, const Device& device);

// Tokens of one optimizer step on all devices.
Count tokens_in_step(const ResolvedRun& run);

// Dollars per device-hour: the price given, else the profile's.
std::optional<double> price_per_hour(const ResolvedRun& run, const Device& device);

// A share above 100 % is no result: the likely causes.
[[noreturn]] void refuse_mfu(const std::string& what, double mfu);

}  // namespace llmcalc
