// Fused attention in the CPU backend: where its arrays lie, and which thread does what.
#include "kernels/cpu/attention.hpp"

#include <algorithm>

#include "kernels/attention_reference.hpp"
#include "kernels/cpu/task.hpp"

namespace llmcalc::cpu {
namespace {

// Products of a pair of blocks. Split, scores and their slopes are computed twice, by who wants the queries' gradients
// and by who wants the keys'.
constexpr Count whole_products = 5, query_products = 3, key_products = 4;

Count pairs_of(const AttentionProblem& problem, Range queries, Range keys) {
  Count pairs = 0;
  for (Count first = queries.first; first < queries.end; first += attention_block) {
    const Count end = std::min(queries.end, first + attention_block);
    const Range seen = visible_keys(problem, {first, end});
    pairs += (end - first) * std::max<Count>(0, std::min(seen.end, keys.end) - std::max(seen.first, keys.first));
  }
  return pairs;
}

std::vector<Range> blocks_of(Count length) {
  std::vector<Range> blocks;
  for (Count first = 0; first < length; first += attention_block)
    blocks.push_back({first, std::min(length, first + attention_block)});
  return blocks;
}

}  // namespace

Range visible_keys(const AttentionProblem& problem, Range queries) {
  if (!problem.skips_masked || problem.shape.window == 0) return {0, problem.shape.length};
  return {std::max<Count>(0, queries.first - problem.shape.window + 1), queries.end};
}

std::vector<std::vector<AttentionPart>> attention_parts(const AttentionProblem& problem, bool backward,
                                                        std::size_t threads) {
  const AttentionShape& s = problem.shape;
  const Count heads = s.batch * (backward ? s.kv_heads : s.heads), workers = static_cast<Count>(threads);
  const Range all{0, s.length};
  // Whole heads leave threads idle in the last round; splitting them costs products.
  const bool whole =
      backward && heads * (query_products + key_products) >= whole_products * ceil_div(heads, workers) * workers;
  struct Piece {
    AttentionPart part;
    Count cost;
  };
  std::vector<Piece> pieces;
  for (Count i = 0; i < heads; ++i) {
    const Count per_batch = heads / s.batch;
    AttentionPart part{i / per_batch, i % per_batch, all, all, backward, backward};
    if (whole) {
      pieces.push_back({part, 1});
      continue;
    }
    for (const Range& block : blocks_of(s.length)) {
      part.queries = block;
      part.key_gradients = false;
      pieces.push_back({part, pairs_of(problem, block, all) * query_products});
    }
    part.query_gradients = false;
    part.key_gradients = true;
    part.queries = all;
    for (const Range& block : backward ? blocks_of(s.length) : std::vector<Range>{}) {
      part.keys = block;
      pieces.push_back({part, pairs_of(problem, all, block) * key_products});
    }
  }
  // Neighbours, which read the same keys, stay together.
  Count total = 0, before = 0;
  for (const Piece& piece : pieces) total += piece.cost;
  std::vector<std::vector<AttentionPart>> parts(threads);
  for (const Piece& piece : pieces) {
    const double middle =
        (static_cast<double>(before) + 0.5 * static_cast<double>(piece.cost)) / static_cast<double>(total);
    parts[std::min(threads - 1, static_cast<std::size_t>(middle * static_cast<double>(threads)))].push_back(piece.part);
    before += piece.cost;
  }
  return parts;
}

namespace {

// Floats of the arrays in the order they lie in: what is read, then what is written.
struct AttentionSizes {
  Count queries, keys, values, mixed, log_sums;
};

AttentionSizes sizes_of(const AttentionShape& s) {
  const Count tokens = s.batch * s.length;
  return {tokens * s.heads * s.qk_size, tokens * s.kv_heads * s.qk_size, tokens * s.kv_heads * s.v_size,
          tokens * s.heads * s.v_size, s.batch * s.heads * s.log_sum_rows};
}

}  // namespace

AttentionKernel CpuBackend::attention_kernel(const Workload& w) const {
  for (const ExtraKernel& extra : extra_) {
    if (extra.variant == w.variant) return extra.attention;
  }
  if (!w.variant.empty() && w.variant != "vectorised") return nullptr;
  return w.kernel == Kernel::attention ? kernels_.attention : kernels_.attention_backward;
}

void CpuBackend::lay_out_attention(CpuTask& task) const {
  Workload& w = task.workload;
  task.attention = attention_kernel(w);
  if (w.variant.empty()) w.variant = "vectorised";
  const bool backward = w.kernel == Kernel::attention_backward;
  const AttentionSizes z = sizes_of(w.attention);
  std::vector<Count> read{z.queries, z.keys, z.values}, written{z.mixed, z.log_sums};
  if (backward) {
    read.insert(read.end(), {z.mixed, z.mixed, z.log_sums});
    written = {z.queries, z.keys, z.values};
  }
  const auto place = [&](const std::vector<Count>& arrays) {
    Count floats = 0;
    for (const Count elements : arrays) {
      floats += rounded(elements) + array_padding;
      task.moved += Bytes(word * elements);
    }
    return floats;
  };
  task.out_offset = place(read);
  task.stride = task.out_offset + place(written);
  AttentionProblem problem;
  problem.shape = w.attention;
  problem.skips_masked = w.skips_masked;
  task.attention_parts = attention_parts(problem, backward, pool_->size());
}

AttentionProblem CpuBackend::attention_problem(const CpuTask& task, Count round) const {
  const Workload& w = task.workload;
  const AttentionSizes z = sizes_of(w.attention);
  AttentionProblem problem;
  problem.shape = w.attention;
  problem.skips_masked = w.skips_masked;
  float* at = arena_.data() + task.window(round);
  const auto next = [&](Count elements) {
    float* array = at;
    at += rounded(elements) + array_padding;
    return array;
  };
  problem.q = next(z.queries);
  problem.k = next(z.keys);
  problem.v = next(z.values);
  if (w.kernel == Kernel::attention_backward) problem.out_gradient = next(z.mixed);
  problem.out = next(z.mixed);
  problem.log_sums = next(z.log_sums);
  if (w.kernel == Kernel::attention_backward) {
    problem.q_gradient = next(z.queries);
    problem.k_gradient = next(z.keys);
    problem.v_gradient = next(z.values);
  }
  return problem;
}

void CpuBackend::run_attention(const CpuTask& task, std::size_t thread, Count round) const {
  const AttentionProblem problem = attention_problem(task, round);
  for (const AttentionPart& part : task.attention_parts[thread]) task.attention(problem, part);
}

Verification CpuBackend::verify_attention(const CpuTask& task) const {
  const AttentionProblem p = attention_problem(task, task.last());
  const AttentionData data{p.shape,        p.q,          p.k,          p.v,         p.out, p.log_sums,
                           p.out_gradient, p.q_gradient, p.k_gradient, p.v_gradient};
  return task.workload.kernel == Kernel::attention ? verify_attention_output(data) : verify_attention_gradients(data);
}

}  // namespace llmcalc::cpu
