// Roofline, MFU, time and cost.
#include "core/rules/formulas.hpp"
#include "core/rules/tables.hpp"

namespace llmcalc::rule {
namespace {

constexpr auto whole = SymbolKind::whole;
constexpr Dimension flop_per_byte = dim::flop / dim::byte;
constexpr Dimension dollar_per_second = dim::dollar / dim::second;

constexpr const char* williams = "Williams, Waterman and Patterson 2009, Communications of the ACM 52(4)";

std::vector<Rule> roofline_rules() {
  const RuleSymbol flops{"flops", "F", "work", dim::flop, whole};
  const RuleSymbol bytes{"bytes", "X", "bytes moved to and from memory", dim::byte, whole};
  return {
      {.name = "arithmetic_intensity",
       .title = "Arithmetic intensity",
       .symbols = {flops, bytes},
       .results = {{"intensity", "I", "FLOPs for each byte moved", flop_per_byte, SymbolKind::positive}},
       .scope = "One operation, or a whole step.",
       .caution =
           "Count bytes read and written. The measured traffic is higher where caches do not hold what is used again.",
       .source = williams,
       .example = "flops=48 bytes=104B",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> { return {quotient(in["flops"], in["bytes"])}; }},
      {.name = "ridge",
       .title = "Ridge point",
       .symbols = {peak, bandwidth},
       .results = {{"intensity", "I_ridge", "the intensity at which both limits are equal", flop_per_byte,
                    SymbolKind::positive}},
       .scope = "Below it memory is the limit, above it compute.",
       .caution = "Each dtype has its own peak, so its own ridge.",
       .source = williams,
       .example = "peak=100TFLOP/s bandwidth=1TB/s",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> { return {quotient(in["peak"], in["bandwidth"])}; }},
      {.name = "roofline",
       .title = "Roofline bound",
       .symbols = {peak,
                   {"intensity", "I", "arithmetic intensity", flop_per_byte, SymbolKind::positive, "",
                    "arithmetic_intensity"},
                   bandwidth},
       .results = {{"attainable", "R", "rate that cannot be exceeded", dim::flops_per_second, SymbolKind::positive}},
       .scope = "Compute and memory traffic overlap perfectly.",
       .caution = "A ceiling, not a forecast: what kernels reach lies below.",
       .source = williams,
       .example = "peak=100TFLOP/s bandwidth=1TB/s intensity=20",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {roofline(in["peak"], in["intensity"], in["bandwidth"])};
       }},
      {.name = "roofline_time",
       .title = "Shortest time of an operation",
       .symbols = {flops, bytes, peak, bandwidth},
       .results = {{"time", "t", "the longer of computing and moving", dim::second, SymbolKind::positive}},
       .scope = "Compute and memory traffic overlap perfectly.",
       .caution = "Launching a kernel takes microseconds, which rules for small operations.",
       .source = williams,
       .example = "flops=137438953472 bytes=100663296B peak=100TFLOP/s bandwidth=1TB/s",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {roofline_time(in["flops"], in["bytes"], in["peak"], in["bandwidth"])};
       }},
  };
}

std::vector<Rule> utilisation_rules() {
  return {
      {.name = "flops_per_token",
       .title = "Training FLOPs of one token",
       .symbols = {parameters},
       .results = {{"flops_per_token", "c", "forward and backward", flop_per_token, SymbolKind::positive}},
       .scope = "6nd for one token.",
       .caution = "Attention is left out.",
       .source = "Kaplan et al. 2020, arXiv:2001.08361",
       .example = "parameters=1B",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {constant<Traced>(6, flop_per_parameter_token) * in["parameters"]};
       }},
      {.name = "achieved_rate",
       .title = "Achieved rate of model FLOPs",
       .symbols = {{"flops_per_token", "c", "model FLOPs of one token", flop_per_token, SymbolKind::positive, "",
                    "flops_per_token"},
                   {"tokens_per_second", "θ", "throughput of all devices together", dim::token / dim::second}},
       .results = {{"achieved", "R", "achieved rate", dim::flops_per_second, SymbolKind::positive}},
       .scope = "Throughput that is steady, warm-up left out.",
       .caution = "Throughput for one device and for all are easily mixed up.",
       .source = "definition",
       .example = "parameters=1B tokens_per_second=6700",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {product_of(in["flops_per_token"], in["tokens_per_second"])};
       }},
      {.name = "mfu",
       .title = "Model FLOPs utilisation",
       .symbols = {{"achieved", "R", "model FLOPs per second of all devices together", dim::flops_per_second,
                    SymbolKind::positive, "", "achieved_rate"},
                   devices,
                   peak},
       .results = {{"mfu", "MFU", "share of the peak", dim::none, SymbolKind::share}},
       .scope = "Model FLOPs only: what recomputation adds does not count.",
       .caution =
           "Take the dense peak of the dtype that the matmuls run in. Above 100 % something is mixed up: a sparse "
           "peak, the number of devices, all parameters of a mixture of experts.",
       .source = "PaLM (Chowdhery et al. 2022, arXiv:2204.02311), section 4.1 and appendix B",
       .example = "achieved=40TFLOP/s peak=100TFLOP/s",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {mfu(in["achieved"], in["devices"], in["peak"])};
       }},
      {.name = "hfu",
       .title = "Hardware FLOPs utilisation",
       .symbols = {{"mfu", "MFU", "model FLOPs utilisation", dim::none, SymbolKind::share, "", "mfu"},
                   {"passes", "p", "forward-sized passes executed: 3, or 4 with full recompute", dim::none,
                    SymbolKind::positive, "4"}},
       .results = {{"hfu", "HFU", "share of the peak, counting what is executed", dim::none, SymbolKind::share}},
       .scope = "Recomputation of whole layers; with selective recompute p is a little above 3.",
       .caution =
           "HFU is no measure of progress: recomputing more raises it. An HFU taken for an MFU makes a training time "
           "too short by a quarter.",
       .source = "PaLM (Chowdhery et al. 2022, arXiv:2204.02311), section 4.1",
       .example = "mfu=40%",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> { return {hfu(in["mfu"], in["passes"])}; }},
  };
}

std::vector<Rule> run_rules() {
  const RuleSymbol time{"time", "t", "time of the run", dim::second, SymbolKind::positive, "", "training_time"};
  return {
      {.name = "training_time",
       .title = "Training time",
       .symbols = {{"flops", "C", "training FLOPs", dim::flop, whole, "", "6nd"}, devices, peak, mfu_share},
       .results = {{"time", "t", "time", dim::second, SymbolKind::positive}},
       .scope = "Steady training; with parameters= and tokens= instead of flops= it takes 6ND.",
       .caution = "Leaves out warm-up, evaluation, checkpoints and restarts. The MFU of a whole run is a few points "
                  "below that "
                  "of its steps.",
       .source = "definition of the MFU, solved for the time",
       .example = "parameters=1B tokens=10B peak=100TFLOP/s mfu=40%",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {training_time(in["flops"], in["devices"], in["peak"], in["mfu"])};
       }},
      {.name = "training_time_recompute",
       .title = "Training time with full recompute",
       .symbols = {parameters,
                   tokens,
                   devices,
                   {"achieved", "R", "achieved rate of one device, recomputation counted", dim::flops_per_second}},
       .results = {{"time", "t", "time", dim::second, SymbolKind::positive}},
       .scope = "Every layer is run forward twice: 8ND are executed.",
       .caution = "R is a hardware rate. With a rate of model FLOPs use training_time.",
       .source = "Narayanan et al. 2021, arXiv:2104.04473, eq. 4",
       .example = "parameters=175B tokens=300B devices=1024 achieved=140TFLOP/s",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {training_time_recompute(in["parameters"], in["tokens"], in["devices"], in["achieved"])};
       }},
      {.name = "throughput",
       .title = "Tokens per second",
       .symbols = {parameters, devices, peak, mfu_share},
       .results = {{"tokens_per_second", "θ", "throughput of all devices together", dim::token / dim::second,
                    SymbolKind::positive}},
       .scope = "6ND training.",
       .caution = "Attention is left out, so long sequences are slower.",
       .source = "definition of the MFU, solved for the throughput",
       .example = "parameters=1B peak=100TFLOP/s mfu=40%",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {throughput(in["parameters"], in["devices"], in["peak"], in["mfu"])};
       }},
      {.name = "device_hours",
       .title = "Device-hours",
       .symbols = {time, {"devices", "G", "devices", dim::none, whole}},
       .results = {{"device_time", "t_G", "time of all devices together", dim::second, SymbolKind::device_time}},
       .scope = "All devices are held for the whole run.",
       .caution = "Idle and failed nodes are paid for too.",
       .source = "definition",
       .example = "time=10days devices=64",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> { return {product_of(in["time"], in["devices"])}; }},
      {.name = "cost",
       .title = "Cost",
       .symbols = {time, devices, {"usd_per_hour", "price", "price of one device for an hour", dollar_per_second}},
       .results = {{"usd", "cost", "dollars", dim::dollar, SymbolKind::positive}},
       .scope = "Rented by the hour; with the symbols of training_time instead of time= in one go.",
       .caution = "Storage, network, staff and failed runs come on top.",
       .source = "definition",
       .example = "parameters=1B tokens=10B peak=100TFLOP/s mfu=40% usd_per_hour=2",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {cost(in["time"], in["devices"], in["usd_per_hour"])};
       }},
      {.name = "energy",
       .title = "Energy",
       .symbols = {time,
                   devices,
                   {"power", "W", "power of one device", dim::watt},
                   {"pue", "PUE", "power of the building over that of the machines", dim::none, SymbolKind::positive,
                    "1"}},
       .results = {{"energy", "E", "energy", dim::joule, SymbolKind::positive}},
       .scope = "Devices at their stated power all the time.",
       .caution = "Hosts, network and cooling are left out unless the PUE stands for them.",
       .source = "definition",
       .example = "time=10days devices=64 power=700W pue=1.2",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {energy(in["time"], in["devices"], in["power"], in["pue"])};
       }},
  };
}

}  // namespace

std::vector<Rule> time_rules() {
  std::vector<Rule> all = roofline_rules();
  for (auto* more : {utilisation_rules, run_rules}) {
    for (Rule& rule : more()) all.push_back(std::move(rule));
  }
  return all;
}

}  // namespace llmcalc::rule
