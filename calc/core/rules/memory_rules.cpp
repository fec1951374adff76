// Training memory, activations, caches and files.
#include "core/rules/formulas.hpp"
#include "core/rules/tables.hpp"

namespace llmcalc::rule {
namespace {

constexpr auto whole = SymbolKind::whole;
constexpr auto zero_up = SymbolKind::zero_up;

// Bytes per parameter by what they hold; the defaults are fp32 with AdamW.
constexpr RuleSymbol weight{"weight", "b_w", "bytes per parameter: weight", byte_per_parameter, zero_up, "4"};
constexpr RuleSymbol gradient{"gradient", "b_g", "gradient", byte_per_parameter, zero_up, "4"};
constexpr RuleSymbol master{"master",           "b_m",   "fp32 copies kept beside a 16-bit weight",
                            byte_per_parameter, zero_up, "0"};
constexpr RuleSymbol moments{"moments",          "b_o",   "optimizer states: two moments of AdamW",
                             byte_per_parameter, zero_up, "8"};

std::vector<Rule> state_rules() {
  return {
      {.name = "16n",
       .title = "Weights, gradients, optimizer states",
       .symbols = {parameters, weight, gradient, master, moments},
       .results = {{"bytes", "M", "model states", dim::byte, zero_up}},
       .scope = "What is there all the time, on one device and unsharded; recipe= sets the four widths together.",
       .caution =
           "Activations, temporaries of the optimizer step, autocast copies and the allocator's rest come on top.",
       .source =
           "bytes of the dtypes; Rajbhandari et al. 2020, arXiv:1910.02054, section 3.1, for 16 with a master copy; "
           "Megatron-LM's distributed optimizer page for 18 and 20",
       .example = "parameters=1B",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {training_state(in["parameters"], in["weight"], in["gradient"], in["master"], in["moments"])};
       },
       .presets = {{"adamw-fp32", "16 B: fp32, AdamW", "weight=4 gradient=4 master=0 moments=8"},
                   {"sgd-fp32", "8 B: fp32, SGD without momentum", "weight=4 gradient=4 master=0 moments=0"},
                   {"momentum-fp32", "12 B: fp32, SGD with momentum", "weight=4 gradient=4 master=0 moments=4"},
                   {"adamw-bf16", "8 B: everything bf16, no master copy", "weight=2 gradient=2 master=0 moments=4"},
                   {"adamw-bf16-master", "16 B: bf16 with an fp32 master copy",
                    "weight=2 gradient=2 master=4 moments=8"},
                   {"adamw-bf16-fp32-grads", "18 B: the same with fp32 gradients",
                    "weight=2 gradient=4 master=4 moments=8"},
                   {"adamw-fp16-megatron", "20 B: fp16, fp32 master copy and a second, fp32 gradient",
                    "weight=2 gradient=2 master=8 moments=8"},
                   {"momentum-bf16-fp32-grads", "14 B: bf16, fp32 gradients and master copy, SGD with momentum",
                    "weight=2 gradient=4 master=4 moments=4"}}},
      {.name = "zero",
       .title = "Model states of one rank under ZeRO",
       .symbols = {parameters,
                   {"weight", "b_w", "bytes per parameter: weight", byte_per_parameter, zero_up, "2"},
                   {"gradient", "b_g", "gradient", byte_per_parameter, zero_up, "2"},
                   {"optimizer", "b_o", "master copy and moments", byte_per_parameter, zero_up, "12"},
                   {"ranks", "d", "data-parallel ranks it is split over", dim::none, whole}},
       .results = {{"stage_1", "M_1", "optimizer part split", dim::byte, zero_up},
                   {"stage_2", "M_2", "gradients split too", dim::byte, zero_up},
                   {"stage_3", "M_3", "everything split (FSDP)", dim::byte, zero_up}},
       .scope = "Parameters that divide evenly over the ranks.",
       .caution =
           "Stage 3 also holds the gathered layers it is working on; hybrid sharding splits over one group only.",
       .source = "Rajbhandari et al. 2020, arXiv:1910.02054, section 5",
       .example = "parameters=7.5B ranks=64",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         const auto &n = in["parameters"], &w = in["weight"], &g = in["gradient"], &o = in["optimizer"],
                    &d = in["ranks"];
         return {zero_1(n, w, g, o, d), zero_2(n, w, g, o, d), zero_3(n, w, g, o, d)};
       }},
      {.name = "kv_cache",
       .title = "KV cache",
       .symbols = {layers,
                   {"kv_heads", "h", "key and value heads", dim::none, whole},
                   {"head_dim", "d", "head dimension", dim::none, whole},
                   value_width,
                   {"tokens", "T", "tokens in the cache, over all sequences", dim::token, whole, "1"}},
       .results = {{"per_token", "b", "for one token", byte_per_token, zero_up},
                   {"bytes", "M", "for all of them", dim::byte, zero_up}},
       .scope = "Attention with grouped kv heads; every layer keeps every token.",
       .caution =
           "It is the kv heads that count, not the query heads. Sliding windows cap the tokens, latent attention (MLA) "
           "keeps one compressed vector instead, and paged caches round up to whole pages.",
       .source = "derived: a key and a value for each layer, kv head and token",
       .example = "layers=32 kv_heads=8 head_dim=128 dtype=bf16 tokens=8192",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         const Traced per_token = kv_cache_per_token(in["layers"], in["kv_heads"], in["head_dim"], in["dtype"]);
         return {per_token, bytes_of_tokens(in["tokens"], per_token)};
       }},
      {.name = "activations",
       .title = "Activations kept for backward",
       .symbols = {seq, batch, hidden, {"heads", "a", "attention heads", dim::none, whole}, one_layer},
       .results = {{"bytes", "M", "everything kept", dim::byte, whole},
                   {"without_scores", "M_sel", "without the attention matrices: fused or recomputed", dim::byte, whole},
                   {"recomputed", "M_full", "full recompute: each layer keeps its input", dim::byte, whole}},
       .scope = "A GPT layer as Megatron has it, 16-bit values, dropout with 1-byte masks, an MLP of width 4H, without "
                "parallelism; embedding, logits and loss left out.",
       .caution = "Other implementations keep 30 to 50 bytes where this says 34: `llmcalc estimate` counts yours.",
       .source = "Korthikanti et al. 2022, arXiv:2205.05198, eq. 1: s b h (34 + 5 a s / h)",
       .example = "seq=2048 batch=1 hidden=12288 heads=96 layers=96",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         const auto &s = in["seq"], &b = in["batch"], &h = in["hidden"], &l = in["layers"];
         return {activations(s, b, h, in["heads"], l), activations_without_scores(s, b, h, l),
                 activations_recomputed(s, b, h, l)};
       }},
      {.name = "logits",
       .title = "One copy of the logits",
       .symbols = {batch, {"seq", "T", "tokens per sequence", dim::none, whole}, vocab, value_width},
       .results = {{"bytes", "M", "one tensor (B,T,V)", dim::byte, zero_up}},
       .scope = "A loss computed in one piece.",
       .caution = "Often there are several: 16-bit logits, an fp32 copy, and its gradient. A chunked or fused loss "
                  "avoids them.",
       .source = "definition",
       .example = "batch=2 seq=4096 vocab=128256 dtype=bf16",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {in["batch"] * in["seq"] * in["vocab"] * in["dtype"]};
       }},
      {.name = "embedding",
       .title = "Embedding of a batch: (B,T) → (B,T,H)",
       .symbols = {batch, {"seq", "T", "tokens per sequence", dim::none, whole}, hidden, value_width},
       .results = {{"bytes", "M", "bytes of the result", dim::byte, zero_up},
                   {"elements", "E", "elements of the result", dim::none, whole}},
       .scope = "A look-up: one row of the table for each token id.",
       .caution = "No FLOPs: rows are copied. The table itself is V · H.",
       .source = "definition",
       .example = "batch=2 seq=3 hidden=4 dtype=fp32",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         const Traced count = in["batch"] * in["seq"] * in["hidden"];
         return {tensor_bytes(count, in["dtype"]), count};
       }},
  };
}

std::vector<Rule> file_rules() {
  return {
      {.name = "checkpoint_bytes",
       .title = "Size of a checkpoint",
       .symbols = {parameters, weight, master, moments},
       .results = {{"bytes", "X", "to continue training: weights and optimizer states", dim::byte, zero_up},
                   {"weights", "X_w", "weights alone", dim::byte, zero_up}},
       .scope = "One file or the sum of all shards; gradients are not saved.",
       .caution = "The file's header, random-number and data-loader states add little.",
       .source = "bytes of what is saved",
       .example = "parameters=1B",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {in["parameters"] * (in["weight"] + in["master"] + in["moments"]), in["parameters"] * in["weight"]};
       }},
      {.name = "checkpoint_time",
       .title = "Time to write a checkpoint",
       .symbols = {{"bytes", "X", "size of the checkpoint", dim::byte, zero_up, "", "checkpoint_bytes"},
                   {"rate", "r", "rate of writing", dim::bytes_per_second}},
       .results = {{"time", "t", "time", dim::second, zero_up}},
       .scope = "One writer at a steady rate.",
       .caution =
           "Use the measured rate of the file system, not that of its network. With asynchronous saving only the copy "
           "to host memory stops training.",
       .source = "definition",
       .example = "parameters=1B rate=2GB/s",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> { return {quotient(in["bytes"], in["rate"])}; }},
      {.name = "dataset_bytes",
       .title = "Size of a tokenised dataset",
       .symbols = {tokens,
                   {"bytes_per_id", "w", "bytes of one token id, or its type", byte_per_token, SymbolKind::width, "2"}},
       .results = {{"bytes", "X", "on disk", dim::byte, zero_up}},
       .scope = "Token ids stored one after the other, uncompressed.",
       .caution = "uint16 holds vocabularies up to 65,536; larger ones need 4 bytes.",
       .source = "definition",
       .example = "tokens=10B bytes_per_id=uint16",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {bytes_of_tokens(in["tokens"], in["bytes_per_id"])};
       }},
      {.name = "batch_bytes",
       .title = "Bytes of a batch of token ids",
       .symbols = {batch,
                   seq,
                   {"bytes_per_id", "w", "bytes of one token id, or its type", byte_per_token, SymbolKind::width,
                    "int64"},
                   {"arrays", "n", "arrays of that shape: inputs, labels, masks", dim::none, whole, "1"}},
       .results = {{"bytes", "X", "moved to the device", dim::byte, zero_up}},
       .scope = "What a training step gets from the host.",
       .caution = "PyTorch wants ids as int64 for the embedding and the loss.",
       .source = "definition",
       .example = "batch=8 seq=1024 arrays=2",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {in["arrays"] * bytes_of_tokens(in["batch"] * in["seq"], in["bytes_per_id"])};
       }},
      {.name = "transfer_time",
       .title = "Time to move a batch to the device",
       .symbols = {{"bytes", "X", "bytes moved", dim::byte, zero_up, "", "batch_bytes"},
                   {"rate", "r", "rate of the copy: the pinned or the pageable one", dim::bytes_per_second}},
       .results = {{"time", "t", "time", dim::second, zero_up}},
       .scope = "One copy at a steady rate.",
       .caution =
           "Pinned memory reaches the rate of the link and can overlap with compute; pageable memory is first copied "
           "to a pinned buffer, is slower, and blocks. Small copies are ruled by latency.",
       .source = "definition",
       .example = "batch=8 seq=1024 arrays=2 rate=25GB/s",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> { return {quotient(in["bytes"], in["rate"])}; }},
  };
}

}  // namespace

std::vector<Rule> memory_rules() {
  std::vector<Rule> all = state_rules();
  for (Rule& rule : file_rules()) all.push_back(std::move(rule));
  return all;
}

}  // namespace llmcalc::rule
