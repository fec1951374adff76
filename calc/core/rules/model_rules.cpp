// FLOPs and parameters of whole models.
#include "core/rules/formulas.hpp"
#include "core/rules/tables.hpp"

namespace llmcalc::rule {
namespace {

constexpr auto whole = SymbolKind::whole;

// N parameters, D tokens, and a number of FLOPs.
Rule nd_rule(const char* name, const char* title, const char* meaning, const char* scope,
             std::vector<Traced> (*compute)(const RuleInputs&)) {
  return {.name = name,
          .title = title,
          .symbols = {parameters, tokens},
          .results = {{"flops", "C", meaning, dim::flop, whole}},
          .scope = scope,
          .caution =
              "Leaves out attention's scores and weighted sums (6nd_attention), and counts look-up tables as if they "
              "were multiplied. For a mixture of experts N is the parameters a token really uses.",
          .source = "Kaplan et al. 2020, arXiv:2001.08361: C = 6ND for forward and backward, 2ND of it forward",
          .example = "parameters=1B tokens=10B",
          .compute = compute};
}

std::vector<Rule> nd_rules() {
  return {
      nd_rule("6nd", "FLOPs of training", "forward and backward",
              "Dense transformers with sequences that are short against 6 times the hidden size.",
              [](const RuleInputs& in) -> std::vector<Traced> { return {six_nd(in["parameters"], in["tokens"])}; }),
      nd_rule("2nd", "FLOPs of a forward pass", "forward",
              "One multiply-add for each parameter and token: inference, or the forward part of training.",
              [](const RuleInputs& in) -> std::vector<Traced> { return {two_nd(in["parameters"], in["tokens"])}; }),
      nd_rule("4nd", "FLOPs of a backward pass", "backward",
              "Gradients of inputs and of weights: everything is trained.",
              [](const RuleInputs& in) -> std::vector<Traced> { return {four_nd(in["parameters"], in["tokens"])}; }),
  };
}

std::vector<Rule> attention_rules() {
  return {
      {.name = "6nd_attention",
       .title = "FLOPs of training, attention included",
       .symbols = {parameters, tokens, layers, attention_width, seq},
       .results = {{"flops", "C", "forward and backward", dim::flop, whole}},
       .scope = "Dense transformers; attention counted over the full T × T square.",
       .caution =
           "With causal masking half of the attention term is never needed; conventions differ in which they count, "
           "which moves the MFU by more than half at 128k tokens.",
       .source = "PaLM (Chowdhery et al. 2022, arXiv:2204.02311), appendix B: 6N + 12 L H Q T per token",
       .example = "parameters=8030261248 tokens=15T layers=32 width=4096 seq=8192",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {six_nd_attention(in["parameters"], in["tokens"], in["layers"], in["width"], in["seq"])};
       }},
      {.name = "attention_flops",
       .title = "FLOPs of attention, forward",
       .symbols = {seq, attention_width, one_layer},
       .results = {{"full", "F_full", "every token with every token", dim::flop, whole},
                   {"causal", "F_causal", "tokens with those before them: half of it", dim::flop, whole}},
       .scope =
           "Scores and weighted sum of one sequence; grouped kv heads change nothing here. Backward is twice as much.",
       .caution = "The projections belong to the parameters, not here. Eager kernels execute the full square even when "
                  "half of it is masked.",
       .source = "derived: 2 products · 2 FLOPs · T² pairs · h_q",
       .example = "seq=8192 width=4096 layers=32",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {attention_full(in["seq"], in["width"], in["layers"]),
                 attention_causal(in["seq"], in["width"], in["layers"])};
       }},
      {.name = "attention_window_flops",
       .title = "FLOPs of windowed attention, forward",
       .symbols = {seq,
                   {"window", "W", "tokens a token looks back at, itself included", dim::token, whole},
                   attention_width,
                   one_layer},
       .results = {{"flops", "F", "scores and weighted sum", dim::flop, whole}},
       .scope = "One sequence; layers that all have the same window.",
       .caution = "Counts W · T − W²/2 pairs; with the diagonal counted in full it is W · T − W · (W − 1) / 2.",
       .source = "derived: the causal triangle, cut off below the window",
       .example = "seq=8192 window=4096 width=4096 layers=32",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {attention_window(in["seq"], in["window"], in["width"], in["layers"])};
       }},
      {.name = "transformer_flops",
       .title = "FLOPs of one training step of a GPT",
       .symbols = {{"passes", "p", "forward-sized passes over the layers: 3, or 4 with full recompute", dim::none,
                    whole, "3"},
                   batch,
                   seq,
                   layers,
                   hidden,
                   vocab},
       .results = {{"flops", "F", "one step", dim::flop, whole}},
       .scope = "As many heads as make up the hidden size, no grouped kv heads, an MLP of width 4H; full attention.",
       .caution = "With p = 4 it counts what is executed, so a rate from it gives the HFU, not the MFU.",
       .source = "Narayanan et al. 2021, arXiv:2104.04473, eq. 3: 96 B T L H² (1 + T/6H + V/16LH) is p = 4",
       .example = "batch=1 seq=2048 layers=96 hidden=12288 vocab=51200",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {transformer_flops(in["passes"], in["batch"], in["seq"], in["layers"], in["hidden"], in["vocab"])};
       }},
      {.name = "lora_flops",
       .title = "FLOPs of LoRA fine-tuning",
       .symbols = {{"frozen", "N_f", "frozen parameters", dim::parameter, whole},
                   {"trained", "N_t", "trained parameters", dim::parameter, SymbolKind::whole_0},
                   tokens},
       .results = {{"flops", "C", "forward and backward", dim::flop, whole}},
       .scope = "LoRA and other adapters: the gradient has to pass through the frozen weights.",
       .caution =
           "Two thirds of full training, not the tiny share the trained parameters suggest. Below the first adapter "
           "no gradient is needed, so the true figure is a little lower.",
       .source = "derived: a frozen weight needs forward (2) and the input's gradient (2), not its own (2)",
       .example = "frozen=8B trained=42M tokens=100M",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {lora_flops(in["frozen"], in["trained"], in["tokens"])};
       }},
  };
}

std::vector<Rule> parameter_rules() {
  return {
      {.name = "gpt_parameters",
       .title = "Parameters of a GPT-2",
       .symbols = {layers, hidden, vocab, {"positions", "S", "learned positions", dim::none, whole}},
       .results = {{"parameters", "N", "parameters", dim::parameter, whole}},
       .scope = "Biases, learned positions, two layer norms a layer and a last one, an MLP of width 4H, a tied head.",
       .caution = "An untied head adds V · H.",
       .source = "derived from the shapes: 12H² + 13H for a layer",
       .example = "layers=12 hidden=768 vocab=50257 positions=1024",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {gpt_parameters(in["layers"], in["hidden"], in["vocab"], in["positions"])};
       }},
      {.name = "llama_parameters",
       .title = "Parameters of a Llama",
       .symbols = {layers,
                   hidden,
                   attention_width,
                   {"kv_width", "h_kv", "kv heads · head dimension", dim::none, whole},
                   {"ffn", "F", "width of the MLP", dim::none, whole},
                   vocab,
                   {"tables", "e", "vocabulary tables: 2, or 1 with a tied head", dim::none, whole, "2"}},
       .results = {{"parameters", "N", "parameters", dim::parameter, whole}},
       .scope = "Gated MLP of three matrices, RMSNorm, no biases.",
       .caution = "Biases on the projections (Qwen2) and per-head norms come on top.",
       .source = "derived from the shapes",
       .example = "layers=32 hidden=4096 width=4096 kv_width=1024 ffn=14336 vocab=128256",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {llama_parameters(in["layers"], in["hidden"], in["width"], in["kv_width"], in["ffn"], in["vocab"],
                                  in["tables"])};
       }},
      {.name = "moe_active",
       .title = "Active parameters of an MoE",
       .symbols = {{"shared", "N_s", "parameters that every token uses", dim::parameter, whole},
                   {"expert", "N_e", "parameters of one routed expert, all layers together", dim::parameter, whole},
                   {"active_experts", "K", "experts a token is sent to", dim::none, whole}},
       .results = {{"parameters", "N", "active parameters", dim::parameter, whole}},
       .scope = "The N of 6nd for a mixture of experts.",
       .caution = "Memory still holds all experts. Publishers differ on whether the input table counts as active.",
       .source = "definition",
       .example = "shared=1.6B expert=5.6B active_experts=2",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {moe_active(in["shared"], in["expert"], in["active_experts"])};
       }},
      {.name = "lora_parameters",
       .title = "Parameters that LoRA trains",
       .symbols = {{"rank", "r", "rank", dim::none, whole},
                   {"in", "d_in", "input features of the adapted matrix", dim::none, whole},
                   {"out", "d_out", "its output features", dim::none, whole},
                   {"matrices", "n", "matrices of this shape", dim::none, whole, "1"}},
       .results = {{"parameters", "N", "trained parameters", dim::parameter, whole}},
       .scope = "Two factors, (r, d_in) and (d_out, r), beside each adapted matrix.",
       .caution = "Add up one line for each shape that is adapted.",
       .source = "Hu et al. 2021, arXiv:2106.09685",
       .example = "rank=16 in=4096 out=4096 matrices=32",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {lora_parameters(in["rank"], in["in"], in["out"], in["matrices"])};
       }},
      {.name = "chinchilla_tokens",
       .title = "Tokens for compute-optimal training",
       .symbols = {parameters,
                   {"ratio", "ρ", "tokens per parameter", dim::token / dim::parameter, SymbolKind::positive, "20"}},
       .results = {{"tokens", "D", "training tokens", dim::token, SymbolKind::positive}},
       .scope = "The lowest loss for a given 6ND, inference left aside.",
       .caution =
           "About 20 is read off the fits, and depends on data and size; models meant to be served are trained on "
           "10 to 100 times as much.",
       .source = "Hoffmann et al. 2022, arXiv:2203.15556",
       .example = "parameters=1B",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {product_of(in["parameters"], in["ratio"])};
       }},
  };
}

}  // namespace

std::vector<Rule> model_rules() {
  std::vector<Rule> all = nd_rules();
  for (auto* more : {attention_rules, parameter_rules}) {
    for (Rule& rule : more()) all.push_back(std::move(rule));
  }
  return all;
}

}  // namespace llmcalc::rule
