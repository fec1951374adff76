// Batches over several micro-batches and devices, and what the devices exchange.
#include "core/rules/formulas.hpp"
#include "core/rules/tables.hpp"

namespace llmcalc::rule {
namespace {

constexpr auto whole = SymbolKind::whole;
constexpr auto zero_up = SymbolKind::zero_up;

std::vector<Rule> batch_rules() {
  const RuleSymbol micro{"micro_batch", "b", "sequences in a micro-batch on one device", dim::none, whole};
  const RuleSymbol accumulate{"accumulate", "k", "micro-batches per optimizer step", dim::none, whole, "1"};
  return {
      {.name = "effective_batch",
       .title = "Effective batch",
       .symbols = {micro, accumulate, devices},
       .results = {{"batch", "B_eff", "sequences per optimizer step", dim::none, whole}},
       .scope = "Micro-batches of equal size.",
       .caution = "With unequal ones the mean of the losses is not the loss of the batch: see micro_batch_weights.",
       .source = "definition",
       .example = "micro_batch=2 accumulate=4",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {in["micro_batch"] * in["accumulate"] * in["devices"]};
       }},
      {.name = "tokens_per_step",
       .title = "Tokens per optimizer step",
       .symbols = {micro, seq, accumulate, devices},
       .results = {{"tokens", "D_step", "tokens per step", dim::token, whole}},
       .scope = "Sequences of equal length.",
       .caution = "Padding is counted.",
       .source = "definition",
       .example = "micro_batch=2 seq=4096 accumulate=4 devices=8",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {tokens_per_step(in["micro_batch"], in["seq"], in["accumulate"], in["devices"])};
       }},
      {.name = "optimizer_steps",
       .title = "Optimizer steps of a run",
       .symbols = {tokens, {"tokens_per_step", "D_step", "tokens per step", dim::token, whole, "", "tokens_per_step"}},
       .results = {{"steps", "n", "steps", dim::none, whole}},
       .scope = "A constant batch.",
       .caution = "The last step may be smaller.",
       .source = "definition",
       .example = "tokens=10B micro_batch=2 seq=4096 accumulate=4 devices=8",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {ceil_div(in["tokens"], in["tokens_per_step"])};
       }},
      {.name = "micro_batch_weights",
       .title = "Weights of unequal micro-batches",
       .symbols = {{"sizes", "n", "samples (or counted tokens) of each micro-batch", dim::none, SymbolKind::wholes}},
       .results = {{"total", "n_all", "samples in all", dim::none, whole},
                   {"weight", "w", "factor of the mean loss of that micro-batch", dim::none, SymbolKind::fraction}},
       .scope = "Gradient accumulation where each micro-batch's loss is a mean.",
       .caution =
           "Dividing by the number of micro-batches gives small ones too much say; for language models count the "
           "tokens that enter the loss, not the sequences.",
       .source = "derived: the mean over all is the mean of means, weighted by size",
       .example = "sizes=4,4,2",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         const List<Traced>& sizes = in.list("sizes");
         const Traced all = total(sizes);
         std::vector<Traced> values{all};
         for (Count i = 1; i <= sizes.size(); ++i) values.push_back(quotient(sizes[Index{"i", i}], all));
         return values;
       }},
      {.name = "pipeline_bubble",
       .title = "Pipeline bubble",
       .symbols = {{"stages", "p", "pipeline stages", dim::none, whole},
                   {"micro_batches", "m", "micro-batches per step", dim::none, whole},
                   {"chunks", "v", "model chunks on each stage (interleaved schedule)", dim::none, whole, "1"}},
       .results = {{"bubble", "f", "idle time over working time", dim::none, zero_up}},
       .scope = "GPipe, 1F1B, and interleaved 1F1B with even stages.",
       .caution = "Relative to the ideal time; as a share of the whole step it is f / (1 + f).",
       .source = "Narayanan et al. 2021, arXiv:2104.04473, section 2.2",
       .example = "stages=8 micro_batches=32",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {bubble(in["stages"], in["chunks"], in["micro_batches"])};
       }},
  };
}

Rule ring_rule(const char* name, const char* title, const char* caution,
               std::vector<Traced> (*compute)(const RuleInputs&)) {
  return {.name = name,
          .title = title,
          .symbols = {{"bytes", "X", "size of the whole buffer", dim::byte, whole},
                      {"ranks", "n", "devices in the ring", dim::none, whole},
                      {"bandwidth", "β", "bandwidth of a link, one direction", dim::bytes_per_second},
                      {"latency", "α", "latency of one hop", dim::second, zero_up, "0 s"}},
          .results = {{"time", "t", "time", dim::second, zero_up},
                      {"traffic", "X_rank", "bytes that each device sends", dim::byte, zero_up}},
          .scope = "A ring of equal links.",
          .caution = caution,
          .source =
              "Patarasuk and Yuan 2009, Journal of Parallel and Distributed Computing 69(2); NVIDIA nccl-tests, "
              "doc/PERFORMANCE.md",
          .example = "bytes=16GB ranks=8 bandwidth=450GB/s latency=10us",
          .compute = compute};
}

std::vector<Traced> ring(Count rounds, const RuleInputs& in) {
  return {ring_time(rounds, in["bytes"], in["ranks"], in["bandwidth"], in["latency"]),
          ring_traffic(rounds, in["bytes"], in["ranks"])};
}

}  // namespace

std::vector<Rule> collective_rules() {
  std::vector<Rule> all = batch_rules();
  all.push_back(
      ring_rule("ring_all_reduce", "Ring all-reduce",
                "Small buffers are ruled by latency, and other algorithms (trees, in-switch sums) move less. The "
                "traffic hardly depends on the number of devices: close to 2X.",
                [](const RuleInputs& in) { return ring(2, in); }));
  all.push_back(ring_rule("ring_all_gather", "Ring all-gather or reduce-scatter",
                          "X is the gathered size, not each device's part.",
                          [](const RuleInputs& in) { return ring(1, in); }));
  return all;
}

}  // namespace llmcalc::rule
