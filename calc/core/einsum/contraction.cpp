#include "core/einsum/contraction.hpp"

#include <algorithm>
#include <limits>

#include "core/diagnostics.hpp"

namespace llmcalc::einsum {
namespace {

constexpr std::size_t most_exhaustive = 10;  // operands; 3^10 splits take milliseconds

Int128 sum(Int128 a, Int128 b) { return checked::add<Int128>(a, b); }

struct Cost {
  Int128 flops = 0, elementwise = 0, exact = 0;
};

// To sum what lies along the axes that are not in `rest`; sums over nothing are free.
Int128 additions(const Problem& p, AxisSet axes, AxisSet rest) {
  return std::max<Int128>(p.size(axes) - p.size(axes & rest), 0);
}

// The product of operands with axes a and b; `keep` are the axes that something else still needs.
Cost pair_cost(const Problem& p, AxisSet a, AxisSet b, AxisSet keep) {
  Cost cost;
  // An axis that only one of them has is summed before the product.
  const AxisSet a_rest = a & (b | keep), b_rest = b & (a | keep);
  cost.elementwise = sum(additions(p, a, a_rest), additions(p, b, b_rest));
  const AxisSet summed = a_rest & b_rest & ~keep;
  const Int128 results = p.size((a_rest | b_rest) & keep);
  if (summed == 0) {
    cost.elementwise = sum(cost.elementwise, results);
  } else {
    const Int128 terms = p.size(summed);
    cost.flops = checked::multiply<Int128>(2, checked::multiply(results, terms));
    if (terms > 0) cost.exact = cost.flops - results;
  }
  cost.exact = sum(cost.exact, cost.elementwise);
  return cost;
}

void append(Path& path, const Problem& p, AxisSet a, AxisSet b, AxisSet keep) {
  const Cost cost = pair_cost(p, a, b, keep);
  path.pairings.push_back({p.letters(a) + "," + p.letters(b) + "->" + p.letters((a | b) & keep), Flops(cost.flops),
                           Flops(cost.elementwise)});
  path.flops += Flops(cost.flops);
  path.elementwise += Flops(cost.elementwise);
  path.exact += Flops(cost.exact);
}

Path single(const Problem& p) {
  Path path;
  const AxisSet axes = p.operands[0];
  path.elementwise = Flops(additions(p, axes, p.output));
  path.exact = path.elementwise;
  path.pairings.push_back({p.letters(axes) + "->" + p.letters(axes & p.output), Flops(0), path.elementwise});
  return path;
}

Path in_order(const Problem& p) {
  Path path;
  AxisSet done = p.operands[0];
  for (std::size_t i = 1; i < p.operands.size(); ++i) {
    AxisSet keep = p.output;
    for (std::size_t j = i + 1; j < p.operands.size(); ++j) keep |= p.operands[j];
    append(path, p, done, p.operands[i], keep);
    done = (done | p.operands[i]) & keep;
  }
  return path;
}

// Best order by dynamic programming over sets of operands.
class Search {
 public:
  explicit Search(const Problem& p) : p_(p), all_((std::size_t{1} << p.operands.size()) - 1), best_(all_ + 1) {}

  Path path() {
    for (std::size_t set = 1; set <= all_; ++set) {
      if ((set & (set - 1)) != 0) solve(set);
    }
    Path path;
    write(all_, path);
    return path;
  }

 private:
  struct Entry {
    Int128 cost = 0;
    std::size_t left = 0;  // the part split off; 0 for a single operand
  };

  AxisSet keep(std::size_t set) const {
    AxisSet axes = p_.output;
    for (std::size_t i = 0; i < p_.operands.size(); ++i)
      if ((set >> i & 1U) == 0) axes |= p_.operands[i];
    return axes;
  }
  AxisSet axes(std::size_t set) const {
    AxisSet united = 0;
    for (std::size_t i = 0; i < p_.operands.size(); ++i)
      if ((set >> i & 1U) != 0) united |= p_.operands[i];
    const bool one = (set & (set - 1)) == 0;
    return one ? united : united & keep(set);
  }
  void solve(std::size_t set) {
    const AxisSet kept = keep(set);
    Entry& entry = best_[set];
    entry.cost = std::numeric_limits<Int128>::max();
    for (std::size_t left = (set - 1) & set; left != 0; left = (left - 1) & set) {
      const std::size_t right = set & ~left;
      if (left < right) break;  // each split once, the higher part first
      const Cost cost = pair_cost(p_, axes(right), axes(left), kept);
      const Int128 total = sum(sum(best_[left].cost, best_[right].cost), sum(cost.flops, cost.elementwise));
      if (total < entry.cost) entry = {total, left};
    }
  }
  void write(std::size_t set, Path& path) const {
    if ((set & (set - 1)) == 0) return;
    const std::size_t left = best_[set].left, right = set & ~left;
    write(right, path);
    write(left, path);
    append(path, p_, axes(right), axes(left), keep(set));
  }

  const Problem& p_;
  std::size_t all_;
  std::vector<Entry> best_;
};

// The cheapest pairing each time, for more operands than can be searched.
Path greedy(const Problem& p) {
  Path path;
  std::vector<AxisSet> left = p.operands;
  while (left.size() > 1) {
    std::size_t a = 0, b = 1;
    Int128 least = std::numeric_limits<Int128>::max();
    const auto keep_of = [&](std::size_t i, std::size_t j) {
      AxisSet keep = p.output;
      for (std::size_t k = 0; k < left.size(); ++k)
        if (k != i && k != j) keep |= left[k];
      return keep;
    };
    for (std::size_t i = 0; i < left.size(); ++i) {
      for (std::size_t j = i + 1; j < left.size(); ++j) {
        const Cost cost = pair_cost(p, left[i], left[j], keep_of(i, j));
        const Int128 total = sum(cost.flops, cost.elementwise);
        if (total < least) {
          least = total;
          a = i;
          b = j;
        }
      }
    }
    const AxisSet keep = keep_of(a, b);
    append(path, p, left[a], left[b], keep);
    left[a] = (left[a] | left[b]) & keep;
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(b));
  }
  return path;
}

}  // namespace

Contraction contract(const Problem& problem) {
  try {
    Contraction contraction;
    if (problem.operands.size() == 1) {
      contraction.best = contraction.left_to_right = single(problem);
      return contraction;
    }
    contraction.left_to_right = in_order(problem);
    contraction.exhaustive = problem.operands.size() <= most_exhaustive;
    if (problem.operands.size() == 2) {
      contraction.best = contraction.left_to_right;
    } else {
      contraction.best = contraction.exhaustive ? Search(problem).path() : greedy(problem);
    }
    contraction.backward();
    return contraction;
  } catch (const Overflow&) {
    throw Error(Exit::bad_input, "the FLOPs of this product pass 128 bits");
  }
}

}  // namespace llmcalc::einsum
