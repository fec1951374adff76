#include "kernels/transfer_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "kernels/statistics.hpp"
#include "kernels/workload.hpp"

namespace llmcalc {
namespace {

constexpr std::size_t fewest_sizes = 3;
constexpr int most_rounds = 50;
// Huber's constant: residuals up to so many robust standard deviations keep their full weight.
constexpr double full_weight = 1.345;
// A median absolute deviation times this is a normal distribution's standard deviation.
constexpr double of_median_deviation = 1.4826;
// Residuals below a thousandth are measurement, not outliers.
constexpr double smallest_spread = 1e-3;

// Minimises the weighted squares of (latency + slope * bytes) / seconds - 1.
TransferLine solve(const std::vector<TransferPoint>& points, const std::vector<double>& weights) {
  double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double u = 1 / points[i].seconds, v = points[i].bytes / points[i].seconds;
    uu += weights[i] * u * u;
    uv += weights[i] * u * v;
    vv += weights[i] * v * v;
    u1 += weights[i] * u;
    v1 += weights[i] * v;
  }
  const double determinant = uu * vv - uv * uv;
  double latency = determinant > 0 ? (u1 * vv - v1 * uv) / determinant : 0;
  double slope = determinant > 0 ? (v1 * uu - u1 * uv) / determinant : 0;
  if (!(latency > 0)) {  // nothing starts before it is asked to
    latency = 0;
    slope = vv > 0 ? v1 / vv : 0;
  }
  return {latency, slope > 0 ? 1 / slope : 0, 0};
}

double residual(const TransferLine& line, const TransferPoint& point) {
  return (line.latency + point.bytes / line.rate) / point.seconds - 1;
}

// Over a link, or the library's own copy.
bool is_fitted(const MeasuredWorkload& w) {
  return w.verified && w.span.empty() && (w.crosses_link() || w.workload == name_of(Kernel::memory_copy));
}

}  // namespace

std::optional<TransferLine> fit_transfer(const std::vector<TransferPoint>& points) {
  if (points.size() < fewest_sizes) return std::nullopt;
  std::vector<double> weights(points.size(), 1);
  TransferLine line;
  for (int round = 0; round < most_rounds; ++round) {
    line = solve(points, weights);
    if (!(line.rate > 0) || !std::isfinite(line.rate)) return std::nullopt;
    std::vector<double> sizes;
    for (const TransferPoint& point : points) sizes.push_back(std::abs(residual(line, point)));
    const double spread = std::max(smallest_spread, of_median_deviation * median_of(sizes));
    double change = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double weight = std::min(1.0, full_weight * spread / std::max(sizes[i], smallest_spread));
      change = std::max(change, std::abs(weight - weights[i]));
      weights[i] = weight;
    }
    if (change < smallest_spread) break;
  }
  for (const TransferPoint& point : points) line.misfit = std::max(line.misfit, std::abs(residual(line, point)));
  return line;
}

std::vector<MeasuredTransfer> transfers_of(const std::vector<MeasuredWorkload>& found) {
  std::map<std::pair<std::string, std::string>, std::vector<TransferPoint>> kinds;
  for (const MeasuredWorkload& w : found) {
    if (is_fitted(w)) kinds[{w.workload, w.variant}].push_back({w.payload().as_double(), w.median.value()});
  }
  std::vector<MeasuredTransfer> transfers;
  for (const auto& [kind, points] : kinds) {
    if (const std::optional<TransferLine> line = fit_transfer(points))
      transfers.push_back({kind.first, kind.second, Seconds(line->latency), BytesPerSecond(line->rate),
                           static_cast<Count>(points.size()), line->misfit});
  }
  return transfers;
}

}  // namespace llmcalc
