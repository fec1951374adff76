// Tensors and matrix products.
#include "core/rules/formulas.hpp"
#include "core/rules/tables.hpp"

namespace llmcalc::rule {

std::vector<Rule> tensor_rules() {
  constexpr auto whole = SymbolKind::whole;
  const RuleSymbol m{"m", "M", "rows of the first matrix", dim::none, whole};
  const RuleSymbol n{"n", "N", "columns of the second matrix", dim::none, whole};
  const RuleSymbol k{"k", "K", "columns of the first, rows of the second: the summed axis", dim::none, whole};
  return {
      {.name = "elements",
       .title = "Elements of a tensor",
       .symbols = {{"shape", "d", "lengths of the axes", dim::none, SymbolKind::wholes}},
       .results = {{"elements", "E", "elements", dim::none, whole}},
       .scope = "Any dense tensor.",
       .caution = "A broadcast (expanded) tensor has as many elements, but its storage is smaller.",
       .source = "definition",
       .example = "shape=8,1024,4096",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> { return {elements(in.list("shape"))}; }},
      {.name = "tensor_bytes",
       .title = "Bytes of a tensor",
       .symbols = {{"elements", "E", "elements", dim::none, whole, "", "elements"}, value_width},
       .results = {{"bytes", "bytes", "size of its values", dim::byte, whole}},
       .scope = "Dense tensors whose values take whole bytes.",
       .caution = "Views share a storage: count each storage once. MB is 10⁶ bytes, MiB 2²⁰.",
       .source = "definition",
       .example = "shape=8,1024,4096 dtype=bf16",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {tensor_bytes(in["elements"], in["dtype"])};
       }},
      {.name = "matmul_flops",
       .title = "FLOPs of a matrix product",
       .symbols = {m, n, k},
       .results = {{"flops", "F", "2 FLOPs for each multiply-add", dim::flop, whole},
                   {"exact", "F_exact", "multiplications and additions that are really needed", dim::flop, whole}},
       .scope = "(M,K) × (K,N), dense.",
       .caution =
           "The usual count takes a multiply-add as 2 FLOPs; the first product of each sum needs no addition, so the "
           "exact count is lower by M · N.",
       .source = "definition: M · N results, each the sum of K products",
       .example = "m=2 n=4 k=3",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {matmul_flops(in["m"], in["n"], in["k"]), matmul_flops_exact(in["m"], in["n"], in["k"])};
       }},
      {.name = "matmul_intensity",
       .title = "Intensity of a matrix product",
       .symbols = {m, n, k, value_width},
       .results = {{"intensity", "I", "FLOPs for each byte moved", dim::flop / dim::byte, SymbolKind::positive},
                   {"bytes", "bytes", "both inputs read and the result written once", dim::byte, SymbolKind::positive}},
       .scope = "Each matrix moves through memory exactly once.",
       .caution = "An upper bound: a kernel whose tiles do not fit the caches reads its inputs several times.",
       .source = "derived: 2MNK over the bytes of the three matrices",
       .example = "m=4096 n=4096 k=4096 dtype=bf16",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         const Traced bytes = matmul_bytes(in["m"], in["n"], in["k"], in["dtype"]);
         return {matmul_flops(in["m"], in["n"], in["k"]) / bytes, bytes};
       }},
      {.name = "rows",
       .title = "Rows that a linear layer sees",
       .symbols = {{"batch", "B", "sequences", dim::none, whole},
                   {"seq", "T", "tokens per sequence", dim::none, whole}},
       .results = {{"rows", "M", "rows", dim::none, whole}},
       .scope = "An input of shape (B,T,H): every token is one row.",
       .caution = "Padding counts as rows too.",
       .source = "definition",
       .example = "batch=2 seq=3",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> { return {product_of(in["batch"], in["seq"])}; }},
      {.name = "linear_flops",
       .title = "FLOPs of a linear layer",
       .symbols = {{"rows", "M", "rows of the input: tokens of the batch", dim::none, whole, "", "rows"},
                   {"in", "H", "input features", dim::none, whole},
                   {"out", "K", "output features", dim::none, whole}},
       .results = {{"forward", "F_fwd", "forward", dim::flop, whole},
                   {"backward", "F_bwd", "gradients of the input and of the weight", dim::flop, whole},
                   {"total", "F", "forward and backward", dim::flop, whole}},
       .scope = "(M,H) → (M,K); with batch= and seq= the same for (B,T,H).",
       .caution =
           "The bias is not counted. A frozen weight needs no gradient of its own: backward is then 2MHK; the first "
           "layer needs none of its input.",
       .source = "derived: each of the three matrix products has M · H · K multiply-adds",
       .example = "batch=2 seq=3 in=4 out=5",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         const auto& rows = in["rows"];
         return {linear_flops(2, rows, in["in"], in["out"]), linear_flops(4, rows, in["in"], in["out"]),
                 linear_flops(6, rows, in["in"], in["out"])};
       }},
  };
}

}  // namespace llmcalc::rule
