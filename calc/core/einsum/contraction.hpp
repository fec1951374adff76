// What an einsum costs, for the best order of its pairwise products and for the order they are written in.
#pragma once

#include "core/einsum/equation.hpp"

namespace llmcalc::einsum {

// One product of two operands (or the sum over axes of a single one).
struct Pairing {
  std::string equation;  // "ij,jk->ik"
  Flops flops;           // 2 for each multiply-add, when an axis is summed
  Flops elementwise;     // products without a summed axis, and sums that need no product
};

struct Path {
  std::vector<Pairing> pairings;
  Flops flops;  // of all pairings
  Flops elementwise;
  Flops exact;  // multiplications and additions that are really needed: MN(2K-1) for a matrix product, plus elementwise
};

struct Contraction {
  Path best;               // least flops + elementwise
  Path left_to_right;      // as PyTorch goes without its optional optimiser
  bool exhaustive = true;  // else the cheapest next pairing was taken each time
  // Gradients of all operands: each product's two gradients are products with the same multiply-adds.
  Flops backward() const { return best.flops * 2; }
};

// Throws Error(bad_input) when a count passes 128 bits.
Contraction contract(const Problem& problem);

}  // namespace llmcalc::einsum
