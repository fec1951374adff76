#include "kernels/attention_reference.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

namespace llmcalc {
namespace {

constexpr Count fewest_rows = 47;  // of an array that are computed again; more where there are more heads

double product(const float* a, const float* b, Count size) {
  double sum = 0;
  for (Count i = 0; i < size; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

double product_spread(const float* a, const float* b, Count size) {
  double sum = 0;
  for (Count i = 0; i < size; ++i) sum += std::pow(static_cast<double>(a[i]) * static_cast<double>(b[i]), 2);
  return std::sqrt(sum);
}

// One sum for each element of a row.
struct Sums {
  explicit Sums(Count size)
      : row{std::vector<double>(static_cast<std::size_t>(size)), {}}, squares(row.values.size()) {}

  // `weight` times a vector; its error may be larger than the weight is: `size`.
  void add(const float* values, double weight, double size) {
    for (std::size_t i = 0; i < squares.size(); ++i) {
      const double x = static_cast<double>(values[i]);
      row.values[i] += weight * x;
      squares[i] += size * size * x * x;
    }
  }
  ReferenceRow done() {
    for (double square : squares) row.spread.push_back(std::sqrt(square));
    return std::move(row);
  }

  ReferenceRow row;
  std::vector<double> squares;
};

// Rows of the arrays, and what follows from them.
struct Rows {
  const AttentionData& d;
  const AttentionShape& s = d.shape;

  Count group() const { return s.heads / s.kv_heads; }
  const float* q(Count b, Count h, Count i) const { return d.q + ((b * s.length + i) * s.heads + h) * s.qk_size; }
  const float* k(Count b, Count g, Count j) const { return d.k + ((b * s.length + j) * s.kv_heads + g) * s.qk_size; }
  const float* v(Count b, Count g, Count j) const { return d.v + ((b * s.length + j) * s.kv_heads + g) * s.v_size; }
  Count out_row(Count b, Count h, Count i) const { return ((b * s.length + i) * s.heads + h) * s.v_size; }

  bool sees(Count query, Count key) const { return s.window == 0 || (key <= query && query - key < s.window); }
  double scale() const { return 1 / std::sqrt(static_cast<double>(s.qk_size)); }
  double score(Count b, Count h, Count i, Count j) const {
    return scale() * product(q(b, h, i), k(b, h / group(), j), s.qk_size);
  }
  double probability(Count b, Count h, Count i, Count j) const {
    return std::exp(score(b, h, i, j) - static_cast<double>(d.log_sums[(b * s.heads + h) * s.log_sum_rows + i]));
  }
  // Gradient of the score of a pair, without the scale; `size`: of the terms it is the difference of.
  double slope(Count b, Count h, Count i, Count j, double& size) const {
    const float *gradient = d.out_gradient + out_row(b, h, i), *out = d.out + out_row(b, h, i),
                *x = v(b, h / group(), j);
    const double p = probability(b, h, i, j);
    const double difference = product(gradient, x, s.v_size) - product(gradient, out, s.v_size);
    size = p * std::max(std::abs(difference),
                        product_spread(gradient, x, s.v_size) + product_spread(gradient, out, s.v_size));
    return p * difference;
  }
};

struct Checker {
  explicit Checker(const AttentionData& data) : s(data.shape) { result.limit = attention_limit(s); }

  bool all_numbers(const float* values, Count count, const std::function<std::string()>& what) {
    const bool all = std::all_of(values, values + count, [](float x) { return std::isfinite(x); });
    if (!all) result.problem = what() + " holds NaN: never written, or wrong";
    return all;
  }

  // Rows of an array (batch, length, heads, size) against `expected(batch, head, place)`.
  void rows(const char* name, const float* values, Count heads, Count size,
            const std::function<ReferenceRow(Count, Count, Count)>& expected) {
    const Count count = s.batch * s.length * heads;
    for (Count i = 0; i < count; ++i) {
      const auto row = [&] { return std::string(name) + " at place " + std::to_string(i / heads % s.length); };
      if (!all_numbers(values + i * size, size, row)) return;
    }
    // Every head of every sequence, at places that spread evenly over the whole length whatever their number (steps of
    // the golden ratio); of the last head also the last place.
    const Count all_heads = s.batch * heads, each = std::min(s.length, ceil_div(fewest_rows, all_heads));
    constexpr double golden = 0.6180339887498949;
    for (Count i = 0; i < all_heads * each; ++i) {
      const double share = static_cast<double>(i) * golden,
                   place = (share - std::floor(share)) * static_cast<double>(s.length);
      one_row(values, size, i / each / heads, i / each % heads, std::min(s.length - 1, static_cast<Count>(place)),
              heads, expected);
    }
    one_row(values, size, s.batch - 1, heads - 1, s.length - 1, heads, expected);
  }
  void one_row(const float* values, Count size, Count b, Count h, Count i, Count heads,
               const std::function<ReferenceRow(Count, Count, Count)>& expected) {
    const ReferenceRow want = expected(b, h, i);
    const float* const row = values + ((b * s.length + i) * heads + h) * size;
    for (Count d = 0; d < size; ++d) {
      const auto at = static_cast<std::size_t>(d);
      one(static_cast<double>(row[d]), want.values[at], want.spread[at]);
    }
  }
  void one(double value, double expected, double scale) {
    const double error = std::abs(value - expected) / std::max(std::abs(expected), scale);
    if (!std::isnan(result.error) && !(error <= result.error)) result.error = error;  // NaN stays
  }
  Verification done() {
    result.passed = result.problem.empty() && result.error <= result.limit;
    return result;
  }

  const AttentionShape& s;
  Verification result;
};

}  // namespace

ReferenceRow attention_output(const AttentionData& data, Count b, Count h, Count i, double& log_sum) {
  const Rows rows{data};
  std::vector<std::pair<Count, double>> scores;
  double most = -HUGE_VAL, sum = 0;
  for (Count j = 0; j < data.shape.length; ++j) {
    if (!rows.sees(i, j)) continue;
    scores.emplace_back(j, rows.score(b, h, i, j));
    most = std::max(most, scores.back().second);
  }
  for (const auto& [j, score] : scores) sum += std::exp(score - most);
  log_sum = most + std::log(sum);
  Sums out(data.shape.v_size);
  for (const auto& [j, score] : scores) {
    const double weight = std::exp(score - log_sum);
    out.add(rows.v(b, h / rows.group(), j), weight, weight);
  }
  return out.done();
}

ReferenceRow attention_q_gradient(const AttentionData& data, Count b, Count h, Count i) {
  const Rows rows{data};
  Sums sums(data.shape.qk_size);
  for (Count j = 0; j < data.shape.length; ++j) {
    if (!rows.sees(i, j)) continue;
    double size = 0;
    const double slope = rows.slope(b, h, i, j, size);
    sums.add(rows.k(b, h / rows.group(), j), rows.scale() * slope, rows.scale() * size);
  }
  return sums.done();
}

ReferenceRow attention_k_gradient(const AttentionData& data, Count b, Count kv_head, Count j) {
  const Rows rows{data};
  Sums sums(data.shape.qk_size);
  for (Count h = kv_head * rows.group(); h < (kv_head + 1) * rows.group(); ++h) {
    for (Count i = 0; i < data.shape.length; ++i) {
      if (!rows.sees(i, j)) continue;
      double size = 0;
      const double slope = rows.slope(b, h, i, j, size);
      sums.add(rows.q(b, h, i), rows.scale() * slope, rows.scale() * size);
    }
  }
  return sums.done();
}

ReferenceRow attention_v_gradient(const AttentionData& data, Count b, Count kv_head, Count j) {
  const Rows rows{data};
  Sums sums(data.shape.v_size);
  for (Count h = kv_head * rows.group(); h < (kv_head + 1) * rows.group(); ++h) {
    for (Count i = 0; i < data.shape.length; ++i) {
      if (!rows.sees(i, j)) continue;
      const double p = rows.probability(b, h, i, j);
      sums.add(data.out_gradient + rows.out_row(b, h, i), p, p);
    }
  }
  return sums.done();
}

// Errors of a rounded sum of n terms grow as sqrt(n) units of rounding when they are independent: one sum over a head
// for the score, one over all terms for the result; the exponential and what multiplies add a few. Eight standard
// deviations of that. A term left out or added moves a sum of n of them by 1 / sqrt(n) of its spread, which is more for
// any n below a million.
double attention_limit(const AttentionShape& s) {
  constexpr double unit = 1.0 / (1 << 24), deviations = 8, exponential = 8;
  const Count terms = s.length * (s.heads / s.kv_heads);
  return deviations * unit *
         (std::sqrt(static_cast<double>(std::max(s.qk_size, s.v_size))) + std::sqrt(static_cast<double>(terms)) +
          exponential);
}

Verification verify_attention_output(const AttentionData& data) {
  const AttentionShape& s = data.shape;
  Checker check(data);
  for (Count i = 0; i < s.batch * s.heads; ++i) {
    const auto head = [&] { return "a log-sum of head " + std::to_string(i % s.heads); };
    if (!check.all_numbers(data.log_sums + i * s.log_sum_rows, s.length, head)) return check.done();
  }
  check.rows("the output", data.out, s.heads, s.v_size, [&](Count b, Count h, Count i) {
    double log_sum = 0;
    ReferenceRow row = attention_output(data, b, h, i, log_sum);
    const double found = static_cast<double>(data.log_sums[(b * s.heads + h) * s.log_sum_rows + i]);
    check.one(found, log_sum, 1);
    return row;
  });
  return check.done();
}

Verification verify_attention_gradients(const AttentionData& data) {
  const AttentionShape& s = data.shape;
  Checker check(data);
  const auto by = [&](auto gradient) {
    return [&data, gradient](Count b, Count h, Count i) { return gradient(data, b, h, i); };
  };
  check.rows("the queries' gradient", data.q_gradient, s.heads, s.qk_size, by(attention_q_gradient));
  check.rows("the keys' gradient", data.k_gradient, s.kv_heads, s.qk_size, by(attention_k_gradient));
  check.rows("the values' gradient", data.v_gradient, s.kv_heads, s.v_size, by(attention_v_gradient));
  return check.done();
}

}  // namespace llmcalc
