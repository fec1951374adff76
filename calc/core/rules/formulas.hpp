// The rules of thumb themselves: one function template each, over double, Number or Traced (core/formula.hpp).
// What the letters mean, where a rule holds and where it comes from stands beside it in the tables of this folder.
#pragma once

#include "core/formula.hpp"

namespace llmcalc::rule {

// Units of coefficients. A multiply-add is 2 FLOPs, so 2 FLOP per product.
inline constexpr Dimension flop_per_parameter_token = dim::flop / (dim::parameter * dim::token);
inline constexpr Dimension flop_per_token = dim::flop / dim::token;
inline constexpr Dimension flop_per_pair = dim::flop / (dim::token * dim::token);  // of a query and a key
inline constexpr Dimension byte_per_parameter = dim::byte / dim::parameter;
inline constexpr Dimension byte_per_token = dim::byte / dim::token;

// ---- Tensors and matmuls -------------------------------------------------------------------------------------------

template <class N>
N elements(const List<N>& shape) {
  N product = shape[Index{"i", 1}];
  for (Count i = 2; i <= shape.size(); ++i) product = product * shape[Index{"i", i}];
  return product;
}

template <class N>
N tensor_bytes(const N& elements, const N& bytes_per_value) {
  return elements * bytes_per_value;
}

template <class N>
N matmul_flops(const N& m, const N& n, const N& k) {
  return constant<N>(2, dim::flop) * m * n * k;
}

// k products and k − 1 additions for each of the m · n results.
template <class N>
N matmul_flops_exact(const N& m, const N& n, const N& k) {
  return m * n * (constant<N>(2, dim::flop) * k - constant<N>(1, dim::flop));
}

// FLOPs per weight and row: 2 forward, 4 backward (2 for the input's gradient, 2 for the weight's), 6 in all.
template <class N>
N linear_flops(Count per_weight, const N& rows, const N& in, const N& out) {
  return constant<N>(per_weight, dim::flop) * rows * in * out;
}

template <class N>
N product_of(const N& a, const N& b) {
  return a * b;
}

template <class N>
N matmul_bytes(const N& m, const N& n, const N& k, const N& bytes_per_value) {
  return bytes_per_value * (m * k + k * n + m * n);
}

// ---- FLOPs of models -----------------------------------------------------------------------------------------------

template <class N>
N six_nd(const N& parameters, const N& tokens) {
  return constant<N>(6, flop_per_parameter_token) * parameters * tokens;
}
template <class N>
N two_nd(const N& parameters, const N& tokens) {
  return constant<N>(2, flop_per_parameter_token) * parameters * tokens;
}
template <class N>
N four_nd(const N& parameters, const N& tokens) {
  return constant<N>(4, flop_per_parameter_token) * parameters * tokens;
}

// 6 N D and the two attention matmuls, three passes of 4 · S per token, layer and unit of width.
template <class N>
N six_nd_attention(const N& parameters, const N& tokens, const N& layers, const N& width, const N& seq) {
  return (constant<N>(6, flop_per_parameter_token) * parameters +
          constant<N>(12, flop_per_pair) * layers * width * seq) *
         tokens;
}

// Forward attention of one sequence: scores and weighted sum, 2 FLOPs · 2 matmuls for each pair of tokens.
template <class N>
N attention_full(const N& seq, const N& width, const N& layers) {
  return constant<N>(4, flop_per_pair) * layers * width * power_of(seq, 2);
}
template <class N>
N attention_causal(const N& seq, const N& width, const N& layers) {
  return constant<N>(2, flop_per_pair) * layers * width * power_of(seq, 2);
}

// Causal attention that looks back at most `window` tokens.
template <class N>
N attention_window(const N& seq, const N& window, const N& width, const N& layers) {
  return constant<N>(4, flop_per_pair) * layers * width *
         where(at_most(seq, window), power_of(seq, 2) / 2, window * seq - power_of(window, 2) / 2);
}

// One step of a GPT-like model: `passes` of the layers (3, or 4 with full recompute), the head three times.
template <class N>
N transformer_flops(const N& passes, const N& batch, const N& seq, const N& layers, const N& hidden, const N& vocab) {
  const N layer = constant<N>(24, flop_per_token) * power_of(hidden, 2) + constant<N>(4, flop_per_pair) * seq * hidden;
  return batch * seq * (passes * layers * layer + constant<N>(6, flop_per_token) * hidden * vocab);
}

template <class N>
N lora_flops(const N& frozen, const N& trained, const N& tokens) {
  return (constant<N>(4, flop_per_parameter_token) * frozen + constant<N>(6, flop_per_parameter_token) * trained) *
         tokens;
}

// ---- Parameters ----------------------------------------------------------------------------------------------------

template <class N>
N gpt_parameters(const N& layers, const N& hidden, const N& vocab, const N& positions) {
  return constant<N>(1, dim::parameter) *
         (layers * (12 * power_of(hidden, 2) + 13 * hidden) + (vocab + positions) * hidden + 2 * hidden);
}

template <class N>
N llama_parameters(const N& layers, const N& hidden, const N& q_width, const N& kv_width, const N& ffn, const N& vocab,
                   const N& tables) {
  return constant<N>(1, dim::parameter) *
         (layers * (2 * hidden * q_width + 2 * hidden * kv_width + 3 * hidden * ffn + 2 * hidden) + hidden +
          tables * vocab * hidden);
}

template <class N>
N moe_active(const N& shared, const N& per_expert, const N& active_experts) {
  return shared + per_expert * active_experts;
}

template <class N>
N lora_parameters(const N& rank, const N& in, const N& out, const N& matrices) {
  return constant<N>(1, dim::parameter) * matrices * rank * (in + out);
}

// ---- Memory --------------------------------------------------------------------------------------------------------

template <class N>
N training_state(const N& parameters, const N& weight, const N& gradient, const N& master, const N& moments) {
  return parameters * (weight + gradient + master + moments);
}

// What ZeRO splits over the ranks: stage 1 the optimizer's part, stage 2 gradients too, stage 3 everything.
template <class N>
N zero_1(const N& parameters, const N& weight, const N& gradient, const N& optimizer, const N& ranks) {
  return parameters * (weight + gradient + optimizer / ranks);
}
template <class N>
N zero_2(const N& parameters, const N& weight, const N& gradient, const N& optimizer, const N& ranks) {
  return parameters * (weight + (gradient + optimizer) / ranks);
}
template <class N>
N zero_3(const N& parameters, const N& weight, const N& gradient, const N& optimizer, const N& ranks) {
  return parameters * ((weight + gradient + optimizer) / ranks);
}

// Keys and values: two vectors for each layer and kv head.
template <class N>
N kv_cache_per_token(const N& layers, const N& kv_heads, const N& head_dim, const N& bytes_per_value) {
  return constant<N>(2, dim::none / dim::token) * layers * kv_heads * head_dim * bytes_per_value;
}

// 16-bit activations and 1-byte dropout masks: 34 bytes for each value of the hidden state, and the attention matrices
// (scores and softmax output at 2 bytes, one mask): 5 bytes for each head and pair of tokens.
template <class N>
N activations(const N& seq, const N& batch, const N& hidden, const N& heads, const N& layers) {
  return layers * batch * seq *
         (constant<N>(34, byte_per_token) * hidden + constant<N>(5, byte_per_token / dim::token) * heads * seq);
}
template <class N>
N activations_without_scores(const N& seq, const N& batch, const N& hidden, const N& layers) {
  return layers * batch * seq * (constant<N>(34, byte_per_token) * hidden);
}
template <class N>
N activations_recomputed(const N& seq, const N& batch, const N& hidden, const N& layers) {
  return layers * batch * seq * (constant<N>(2, byte_per_token) * hidden);
}

template <class N>
N tokens_of(const N& batch, const N& seq) {
  return batch * seq;
}

template <class N>
N bytes_of_tokens(const N& tokens, const N& bytes_per_token) {
  return tokens * bytes_per_token;
}

// ---- Roofline, MFU, time, cost -------------------------------------------------------------------------------------

template <class N>
N quotient(const N& a, const N& b) {
  return a / b;
}

template <class N>
N roofline(const N& peak, const N& intensity, const N& bandwidth) {
  return min_of(peak, intensity * bandwidth);
}

template <class N>
N roofline_time(const N& flops, const N& bytes, const N& peak, const N& bandwidth) {
  return max_of(flops / peak, bytes / bandwidth);
}

template <class N>
N mfu(const N& achieved, const N& devices, const N& peak) {
  return achieved / (devices * peak);
}

template <class N>
N hfu(const N& mfu, const N& passes) {
  return mfu * passes / 3;
}

template <class N>
N training_time(const N& flops, const N& devices, const N& peak, const N& mfu) {
  return flops / (devices * peak * mfu);
}

template <class N>
N training_time_recompute(const N& parameters, const N& tokens, const N& devices, const N& achieved) {
  return constant<N>(8, flop_per_parameter_token) * parameters * tokens / (devices * achieved);
}

template <class N>
N throughput(const N& parameters, const N& devices, const N& peak, const N& mfu) {
  return devices * peak * mfu / (constant<N>(6, flop_per_parameter_token) * parameters);
}

template <class N>
N cost(const N& time, const N& devices, const N& price) {
  return time * devices * price;
}

template <class N>
N energy(const N& time, const N& devices, const N& power, const N& overhead) {
  return time * devices * power * overhead;
}

template <class N>
N tokens_per_step(const N& batch, const N& seq, const N& accumulate, const N& devices) {
  return batch * seq * accumulate * devices;
}

template <class N>
N bubble(const N& stages, const N& chunks, const N& micro_batches) {
  return (stages - 1) / (chunks * micro_batches);
}

// ---- Collectives ---------------------------------------------------------------------------------------------------

// Each rank sends (n − 1) of n parts; all-reduce does it twice, once to add up and once to spread the sum.
template <class N>
N ring_traffic(Count rounds, const N& bytes, const N& ranks) {
  return rounds * bytes * (ranks - 1) / ranks;
}

template <class N>
N ring_time(Count rounds, const N& bytes, const N& ranks, const N& bandwidth, const N& latency) {
  return rounds * (ranks - 1) * latency + ring_traffic(rounds, bytes, ranks) / bandwidth;
}

// ---- The small ones of the course ----------------------------------------------------------------------------------

template <class N>
N gradient_step(const N& weight, const N& gradient, const N& rate) {
  return weight - rate * gradient;
}

template <class N>
N squared_error(const N& weight, const N& x, const N& y) {
  return power_of(weight * x - y, 2);
}

template <class N>
N squared_error_gradient(const N& weight, const N& x, const N& y) {
  return 2 * x * (weight * x - y);
}

template <class N>
N negative_log(const N& p) {
  return 0 - log_of(p);
}

template <class N>
N xavier(const N& fan_in) {
  return 1 / root_of(fan_in);
}

template <class N>
N glorot(const N& fan_in, const N& fan_out) {
  return root_of(2 / (fan_in + fan_out));
}

// Samples in all; micro-batch i's mean loss weighs n_i / total in the mean over all.
template <class N>
N total(const List<N>& sizes) {
  return sum<N>("i", sizes.count("m"), [&](Index i) { return sizes[i]; });
}

}  // namespace llmcalc::rule
