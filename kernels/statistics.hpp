// Order statistics of timing samples, and how sure their median is.
#pragma once

#include <vector>

namespace llmcalc {

struct Summary {
  std::size_t count = 0;
  double minimum = 0, p5 = 0, median = 0, p95 = 0;
  double half_width = 0;  // of the median's 95 % interval, as a share of the median
  double drift = 0;       // median of the second half over that of the first, minus 1
};

// Linear between neighbours; `sorted` is not empty and `share` is in [0, 1].
double quantile(const std::vector<double>& sorted, double share);
double median_of(std::vector<double> values);  // not empty

// `samples` in the order they were taken. The interval comes from a moving-block bootstrap, because neighbouring
// samples resemble each other (Kuensch 1989); blocks of n^(1/3) samples. Its random numbers are always the same. Zeros
// for no samples; an infinite half_width for fewer than three.
Summary summarise(const std::vector<double>& samples);

}  // namespace llmcalc
