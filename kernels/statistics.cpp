#include "kernels/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>

namespace llmcalc {
namespace {

constexpr std::size_t fewest_for_interval = 3;
constexpr int resamplings = 200;
constexpr double interval = 0.95;

double bootstrap_half_width(const std::vector<double>& samples, double median) {
  const std::size_t n = samples.size();
  if (n < fewest_for_interval || !(median > 0)) return std::numeric_limits<double>::infinity();
  const auto block = std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(std::cbrt(static_cast<double>(n)))));
  std::mt19937 random(1);  // NOLINT(bugprone-random-generator-seed): the same samples give the same interval
  std::vector<double> medians, drawn;
  for (int i = 0; i < resamplings; ++i) {
    drawn.clear();
    while (drawn.size() < n) {
      const std::size_t start = random() % (n - block + 1);
      for (std::size_t j = 0; j < block && drawn.size() < n; ++j) drawn.push_back(samples[start + j]);
    }
    medians.push_back(median_of(drawn));
  }
  std::sort(medians.begin(), medians.end());
  const double outside = (1 - interval) / 2;
  return (quantile(medians, 1 - outside) - quantile(medians, outside)) / 2 / median;
}

}  // namespace

double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const std::size_t below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - static_cast<double>(below));
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return quantile(values, 0.5);
}

Summary summarise(const std::vector<double>& samples) {
  Summary summary;
  summary.count = samples.size();
  if (samples.empty()) return summary;
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  summary.minimum = sorted.front();
  summary.p5 = quantile(sorted, 0.05);
  summary.median = quantile(sorted, 0.5);
  summary.p95 = quantile(sorted, 0.95);
  summary.half_width = bootstrap_half_width(samples, summary.median);
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  if (samples.size() >= fewest_for_interval)
    summary.drift = median_of({middle, samples.end()}) / median_of({samples.begin(), middle}) - 1;
  return summary;
}

}  // namespace llmcalc
