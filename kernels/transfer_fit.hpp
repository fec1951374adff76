// A way to move data as two numbers: it takes latency + payload / rate.
#pragma once

#include <optional>
#include <vector>

#include "core/device.hpp"

namespace llmcalc {

struct TransferPoint {
  double bytes = 0, seconds = 0;  // payload
};

struct TransferLine {
  double latency = 0;  // seconds; never negative
  double rate = 0;     // bytes a second
  double misfit = 0;   // of the point furthest off the line, as a share of its time
};

// Least squares of relative residuals, since times span five decades; points far off the line count less (Huber's
// weights, iterated), so that one disturbed size does not bend it. Nothing for fewer than three sizes, or when more
// bytes do not take longer.
std::optional<TransferLine> fit_transfer(const std::vector<TransferPoint>& points);

// One for each kind and variant of transfer among the verified measurements.
std::vector<MeasuredTransfer> transfers_of(const std::vector<MeasuredWorkload>& found);

}  // namespace llmcalc
