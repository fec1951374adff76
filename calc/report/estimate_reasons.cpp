#include "report/estimate_reasons.hpp"

#include <cctype>
#include <cmath>
#include <optional>

#include "core/conventions.hpp"
#include "core/quantity.hpp"
#include "core/rules.hpp"
#include "core/training.hpp"

namespace llmcalc::report {

namespace {

constexpr const char* kNone = "-";   // no rule, or no exact count
constexpr double kRounding = 0.15;   // a name with one digit is off by no more
constexpr double kNothing = 0.0005;  // shares below 0.05 % are not worth a word

std::string joined(const std::vector<std::string>& reasons) {
  std::string text;
  for (const std::string& reason : reasons) text += (text.empty() ? "" : "; ") + reason;
  return text;
}

std::string signed_percent(double fraction) { return (fraction < 0 ? "-" : "+") + format_percent(std::abs(fraction)); }

bool is_inference(const Report& report) { return report.run.mode == "infer"; }

// Training counts the forward pass and two products in the backward pass; inference the forward pass alone.
Count flops_per_parameter(const Report& report) { return is_inference(report) ? 2 : 6; }

// The parameters that the rule counts: of a mixture of experts the active ones.
Count rule_parameters(const Report& report) {
  return report.mixture_of_experts ? report.parameters.active : report.parameters.total;
}

// The sizes in a model's name: "8B" of "Llama 3 8B"; "80B", of which "3B" are active, of "Qwen3-Next 80B-A3B"; none of
// "8x7B", which is a product.
struct NamedSize {
  std::optional<Count> total, active;
  std::string total_text, active_text;
};

NamedSize size_in_name(const std::string& name, bool mixture_of_experts) {
  NamedSize found;
  const auto take = [](std::optional<Count>& size, std::string& text, Count count, const std::string& number) {
    size = count;
    text = number;
  };
  std::string number;
  bool product = false, is_active = false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || (c == '.' && !number.empty())) {
      number += c;
      continue;
    }
    const bool unit = std::string_view("bBmM").find(c) != std::string_view::npos;
    const bool ends = i + 1 == name.size() || std::isalnum(static_cast<unsigned char>(name[i + 1])) == 0;
    if (!number.empty() && unit && ends && !product) {
      number += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      const Parsed<Count> size = parse_count(number);
      if (size && is_active) {
        take(found.active, found.active_text, *size, number);
      } else if (size && (!found.total || *size > *found.total)) {  // "1B-7B": of a mixture of experts the smaller is
        if (mixture_of_experts && found.total) take(found.active, found.active_text, *found.total, found.total_text);
        take(found.total, found.total_text, *size, number);
      }
    }
    number.clear();
    product = c == 'x';
    is_active = (c == 'a' || c == 'A') && (i == 0 || std::isalnum(static_cast<unsigned char>(name[i - 1])) == 0);
  }
  return found;
}

// "the name: 3B, +9.2 %"
std::string beside_name(const std::string& named, Count size, Count counted) {
  const double gap = static_cast<double>(counted) / static_cast<double>(size) - 1;
  return "the name: " + named + (std::abs(gap) < kNothing ? "" : ", " + signed_percent(gap));
}

void parameters_row(const Report& report, Table& table) {
  const ParameterCounts& counts = report.parameters;
  std::vector<std::string> reasons;
  const NamedSize named = size_in_name(report.model.name, report.mixture_of_experts);
  if (named.total.value_or(0) > 0 && !report.size_only) {
    const double gap = static_cast<double>(counts.total) / static_cast<double>(*named.total) - 1;
    const char* why = std::abs(gap) < kRounding ? "the name is rounded (" : "the name counts otherwise (";
    if (std::abs(gap) >= kNothing) reasons.push_back(why + signed_percent(gap) + ")");
  }
  if (report.mixture_of_experts) {
    std::string active = format_short_count(counts.active) + " of them active per token";
    if (named.active.value_or(0) > 0)
      active += " (" + beside_name(named.active_text, *named.active, counts.active) + ")";
    reasons.push_back(std::move(active));
  }
  if (counts.tied) reasons.push_back("the head shares the token table");
  if (counts.trainable < counts.total) {
    reasons.push_back(format_short_count(counts.trainable) + " of them trained");
  }
  if (report.size_only) reasons.push_back("the profile gives the size alone");
  table.rows.push_back({"parameters",
                        named.total ? named.total_text + ", the name" : kNone,
                        {format_count(counts.total), counts.total},
                        reasons.empty() ? "counted from the tensors" : joined(reasons)});
}

// The mistake of putting all experts into the rule, told apart.
std::vector<std::string> all_experts(const Report& report) {
  if (!report.mixture_of_experts) return {};
  const Count total = report.parameters.total;
  const double times = static_cast<double>(total) / static_cast<double>(rule_parameters(report));
  return {"N is what is active; all " + format_short_count(total) + " would give a wrong " +
          format_flops(Flops(total) * flops_per_parameter(report)) + ", " + format_significant(times, 3) + " times it"};
}

std::string flops_per_token_reason(const Report& report, double exact) {
  const ParameterCounts& counts = report.parameters;
  if (!is_inference(report) && counts.trainable < counts.total)
    return "only the gradients that are needed are computed";
  const double rule = static_cast<double>(flops_per_parameter(report)) * static_cast<double>(rule_parameters(report));
  const double multiplied = static_cast<double>(flops_per_parameter(report)) * static_cast<double>(counts.compute);
  std::vector<std::string> reasons = all_experts(report);
  const double looked_up = (multiplied - rule) / rule;
  if (looked_up < -kNothing)
    reasons.push_back("tables are looked up, not multiplied (" + signed_percent(looked_up) + ")");
  const FlopsReport& flops = *report.flops;
  const Convention* const convention = convention_named(flops.convention);
  const bool counts_tape = convention->counts_tape;
  // Conventions with a formula of their own do not say what is attention.
  const double tokens = static_cast<double>(tokens_in_step(report.run));
  const double attention = counts_tape ? flops.attention.as_double() / tokens / rule : (exact - multiplied) / rule;
  if (attention > kNothing) {
    reasons.push_back("attention between " + format_count(report.run.seq) + " tokens (" + signed_percent(attention) +
                      ", " + attention_counted(report) + ")");
  }
  // Weights of short convolutions are in N, and vectors that multiply nothing; the rest is what recurrences compute.
  const double rest = counts_tape && flops.recurrence > Flops() ? (exact - multiplied) / rule - attention : 0;
  if (std::abs(rest) > kNothing) reasons.push_back("recurrences (" + signed_percent(rest) + ")");
  return reasons.empty() ? "they agree" : joined(reasons);
}

// How much more than the model FLOPs the device executes, and what for.
std::string executed(const Report& report) {
  const FlopsReport& flops = *report.flops;
  const double model = flops.model.as_double();
  const double more = flops.hardware.as_double() / model - 1;
  if (more < kNothing) return "as per token";
  std::vector<std::string> reasons;
  const auto say = [&](const char* what, const Flops& part) {
    const double share = part.as_double() / model;
    if (share > kNothing) reasons.push_back(what + (" (" + signed_percent(share) + ")"));
  };
  say("recomputation", flops.recompute);
  say("masked pairs too", flops.masked_pairs);
  say("scores again in attention's backward", flops.scores_again);
  return "the device executes " + format_flops(flops.hardware) + ": " + joined(reasons);
}

void flops_rows(const Report& report, Table& table) {
  const Count per_parameter = flops_per_parameter(report);
  const Flops rule = Flops(rule_parameters(report)) * per_parameter;
  const std::string sign = std::to_string(per_parameter) + "N: ";
  if (!report.flops) {
    std::vector<std::string> reasons = all_experts(report);
    reasons.push_back("attention and look-up tables are not known from the size alone");
    table.rows.push_back({"FLOPs per token", {sign + format_flops(rule), rule}, kNone, joined(reasons)});
    return;
  }
  const double exact = is_inference(report) ? report.flops->forward_per_token : report.flops->model_per_token;
  table.rows.push_back({"FLOPs per token",
                        {sign + format_flops(rule), rule},
                        {format_flops(Flops(static_cast<Int128>(exact))), exact},
                        flops_per_token_reason(report, exact)});

  const Flops rule_step = rule * tokens_in_step(report.run);
  table.rows.push_back({is_inference(report) ? "FLOPs in all" : "FLOPs per step",
                        {sign.substr(0, 2) + "D: " + format_flops(rule_step), rule_step},
                        {format_flops(report.flops->model), report.flops->model},
                        executed(report)});
}

// What is alive at the peak beside weights, gradients, master copies and optimizer states.
std::vector<std::string> beside_states(const Report& report) {
  std::vector<std::string> found;
  for (const PhaseReport& phase : report.memory.phases) {
    if (phase.phase != report.memory.peak_phase) continue;
    for (const auto& [part, bytes] : phase.parts) {
      if (part == Part::saved) found.push_back("saved for backward " + format_gib(bytes));
      if (part == Part::autocast_copies) found.push_back("autocast's weight copies " + format_gib(bytes));
      if (part == Part::temporaries) found.push_back("temporaries " + format_gib(bytes));
    }
  }
  return found;
}

void memory_row(const Report& report, Table& table) {
  const MemoryReport& memory = report.memory;
  if (is_inference(report)) return;
  const Bytes states = memory.parameters + memory.gradients + memory.master_weights + memory.optimizer_states;
  std::vector<std::string> reasons;
  if (report.parameters.trainable < report.parameters.total) {
    reasons.push_back("weights " + format_gib(memory.parameters) + "; gradients and states of the " +
                      format_short_count(report.parameters.trainable) + " trained parameters alone, " +
                      format_gib(states - memory.parameters));
  } else if (report.rule_bytes_per_parameter) {
    reasons.push_back(report.run.precision + " with " + report.run.optimizer + " keeps " +
                      format_each(*report.rule_bytes_per_parameter) + " B per parameter, " + format_gib(states));
  }
  for (std::string& part : beside_states(report)) reasons.push_back(std::move(part));
  const bool whole = !report.size_only;
  if (!whole) reasons.push_back("activations are not known from the size alone");
  const Bytes rule = rule_16n(report.parameters.total);
  const Bytes exact = whole ? memory.peak : states;
  table.rows.push_back({whole ? "peak memory" : "memory",
                        {"16N: " + format_gib(rule), rule},
                        {format_both(exact), exact},
                        joined(reasons)});
}

void time_row(const Report& report, Table& table) {
  if (!report.time || !report.time->step) return;
  const TimeReport& time = *report.time;
  const Flops flops = Flops(rule_parameters(report)) * flops_per_parameter(report) * tokens_in_step(report.run);
  const bool given = time.basis == "mfu";  // then the rule takes that one, too
  const double mfu = given ? time.mfu : kUsualMfu;
  const Seconds rule = rule_training_time(flops, report.device->count, report.device->peak, mfu);
  // step / rule = (model FLOPs / 6ND) x (the rule's MFU / this job's)
  std::vector<std::string> reasons;
  const std::string usual = format_significant(100 * kUsualMfu, 2) + " %";
  if (!given)
    reasons.push_back("MFU " + format_percent(time.mfu) + " instead of the usual " + usual + " (" +
                      signed_percent(mfu / time.mfu - 1) + ")");
  const double work = report.flops ? report.flops->model.as_double() / flops.as_double() - 1 : 0;
  if (std::abs(work) >= kNothing) reasons.push_back("the FLOPs (" + signed_percent(work) + ")");
  table.rows.push_back({"time per step",
                        {"6ND/" + (given ? "MFU" : usual) + ": " + format_time(rule), rule},
                        {format_time(*time.step), *time.step},
                        reasons.empty() ? "they agree" : joined(reasons)});
}

}  // namespace

std::string attention_counted(const Report& report) {
  const Convention* const convention = convention_named(report.run.attention_flops);
  if (!report.flops || !convention || !convention->counts_tape) return report.run.attention_flops;
  if (report.flops->attention == Flops()) return {};
  return report.flops->attention_is_causal ? report.run.attention_flops : "every pair";
}

std::string format_each(double bytes) {
  const Count whole = static_cast<Count>(bytes);
  return bytes == static_cast<double>(whole) ? format_count(whole) : format_significant(bytes, 4);
}

Table rule_and_exact(const Report& report) {
  Table table{{{""}, {"rule of thumb"}, {"exact"}, {"why they differ"}}, {}};
  parameters_row(report, table);
  flops_rows(report, table);
  memory_row(report, table);
  time_row(report, table);
  return table;
}

}  // namespace llmcalc::report
