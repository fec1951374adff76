// The page of an estimate: the job, rule of thumb beside exact count, memory by phase, time and cost, what is left out.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/quantity.hpp"
#include "core/suggest.hpp"
#include "core/training.hpp"
#include "report/estimate.hpp"
#include "report/estimate_reasons.hpp"
#include "report/terminal.hpp"

namespace llmcalc::report {

namespace {

constexpr std::size_t kBarWidth = 48, kLeastBar = 8;  // of a page of the usual width; it follows the width
constexpr double kSmallPart = 0.001;                  // of a peak: smaller ones are summed up
constexpr std::size_t kMostAdvice = 3;                // the cheapest ones; JSON has them all
constexpr std::size_t kMostAssumed = 8;               // keys of the model's profile that are named

std::string counted(Count n, const std::string& what) { return format_count(n) + " " + what + (n == 1 ? "" : "s"); }

std::string device_words(const Report::DeviceUsed& device) {
  return (device.count == 1 ? "" : format_count(device.count) + " x ") + device.name;
}

void add_title(const Report& report, Page& page) {
  std::string title = report.model.name;
  if (!report.model.architecture.empty()) title += " (" + report.model.architecture + ", " + report.model.status + ")";
  title += report.run.mode == "infer" ? ": inference" : ": one training step";
  if (report.device) title += " on " + device_words(*report.device);
  page.title(title);
}

void add_job(const Report& report, Page& page) {
  const ResolvedRun& run = report.run;
  std::string job = counted(run.batch, "sequence") + " of " + counted(run.seq, "token");
  if (!run.lengths.empty()) job += " in " + counted(static_cast<Count>(run.lengths.size()), "document");
  if (run.accumulate > 1) job += ", " + format_count(run.accumulate) + " micro-batches a step";
  if (run.gpus > 1) job += ", on each of " + counted(run.gpus, "device");
  if (run.accumulate > 1 || run.gpus > 1 || run.batch > 1)
    job += " = " + counted(tokens_in_step(run), "token") + (run.mode == "infer" ? "" : " a step");
  std::vector<std::string> words = {job};
  const auto say = [&](const std::string& label, const std::string& value) {
    if (!value.empty()) words.push_back(label.empty() ? value : label + " " + value);
  };
  say("", run.precision);
  if (run.mode != "infer") say("", run.optimizer + (run.optimizer_step.empty() ? "" : " (" + run.optimizer_step + ")"));
  if (!run.attention.empty()) {
    const std::string counting = attention_counted(report);
    say("attention", run.attention + (run.attention_why.empty() ? "" : " (" + run.attention_why + ")") +
                         (counting.empty() ? "" : ", counted " + counting));
  }
  if (run.mode != "infer") say("recompute", run.recompute);
  if (run.mode != "infer") say("loss", run.loss);
  if (run.lora) say("lora", *run.lora);
  if (run.dora) say("dora", *run.dora);
  if (run.qlora) say("qlora", *run.qlora);
  if (run.freeze) say("frozen", *run.freeze);
  say("as", report.model.implementation_version);
  std::string line = "Job: ";
  for (std::size_t i = 0; i < words.size(); ++i) line += (i == 0 ? "" : "; ") + words[i];
  page.line(line, Tone::plain, 5);
  std::string assumed;
  if (!run.assumed.empty()) {
    std::vector<std::string> names;  // the values stand in the line above
    for (const std::string& option : run.assumed) names.push_back(option.substr(0, option.find(' ')));
    assumed = "Not given, so the defaults: " + join(names);
  }
  if (!report.model.assumed.empty()) {
    const std::size_t shown = std::min(report.model.assumed.size(), kMostAssumed);
    std::vector<std::string> keys(report.model.assumed.begin(),
                                  report.model.assumed.begin() + static_cast<std::ptrdiff_t>(shown));
    if (shown < report.model.assumed.size())
      keys.push_back(std::to_string(report.model.assumed.size() - shown) + " more");
    assumed += (assumed.empty() ? "" : ". ") + std::string("Not in the profile, so the library's: ") + join(keys);
  }
  if (!assumed.empty()) page.line(assumed, Tone::faint, 5);
}

std::string part_words(Part part) {
  switch (part) {
    case Part::parameters: return "weights";
    case Part::master_weights: return "master weights";
    case Part::optimizer_states: return "optimizer states";
    case Part::buffers: return "buffers";
    case Part::inputs: return "inputs";
    case Part::gradients: return "gradients";
    case Part::kv_cache: return "KV cache";
    case Part::sequence_states: return "recurrent states";
    case Part::autocast_copies: return "autocast copies";
    case Part::saved: return "saved for backward";
    case Part::temporaries: return "temporaries";
  }
  return "";
}

std::string phase_parts(PhaseReport phase) {
  std::stable_sort(phase.parts.begin(), phase.parts.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> parts;
  Bytes rest;
  for (const auto& [part, bytes] : phase.parts) {
    if (bytes.as_double() < kSmallPart * phase.peak.as_double()) {
      rest += bytes;
    } else {
      parts.push_back(part_words(part) + " " + format_gib(bytes));
    }
  }
  if (rest > Bytes()) parts.push_back("other " + format_gib(rest));
  return "At the peak, in " + std::string(name_of(phase.phase)) + ": " + join(parts);
}

void add_phases(const Report& report, std::size_t width, Page& page) {
  const MemoryReport& memory = report.memory;
  const Bytes scale = report.fit ? report.fit->capacity : memory.peak;
  const std::size_t narrower = kReportWidth - std::min(width, kReportWidth);
  const std::size_t cells = std::max(kLeastBar, kBarWidth - std::min(narrower, kBarWidth));
  Table table{{{"phase"}, {"peak", Align::right}, {"", Align::left}, {"of it", Align::right}}, {}};
  for (const PhaseReport& phase : memory.phases) {
    const double share = phase.peak.as_double() / scale.as_double();
    table.rows.push_back(
        {std::string(name_of(phase.phase)), format_gib(phase.peak), bar(share, cells) + "|", format_percent(share)});
  }
  page.heading(report.fit ? "Memory on one device, by phase; the bar's end is the " + format_both(scale) +
                                " that the driver shows"
                          : "Memory on one device, by phase; the bar's end is the largest");
  page.table(table);
  for (const PhaseReport& phase : memory.phases) {
    if (phase.phase == memory.peak_phase) page.line(phase_parts(phase), Tone::plain, 2);
  }
}

// Without phases (known only by its size, or inference): what there is.
void add_sizes(const Report& report, Page& page) {
  const MemoryReport& memory = report.memory;
  std::vector<std::string> sizes;
  const auto say = [&](const char* what, Bytes bytes) {
    if (bytes > Bytes()) sizes.push_back(std::string(what) + " " + format_both(bytes));
  };
  say("weights", memory.parameters);
  say("gradients", memory.gradients);
  say("master weights", memory.master_weights);
  say("optimizer states", memory.optimizer_states);
  say("KV cache", memory.kv_cache.value_or(Bytes()));
  say("recurrent states", memory.sequence_states.value_or(Bytes()));
  page.heading("Memory on one device");
  page.line(join(sizes), Tone::plain, 2);
}

// The cheapest ones, and with them the cheapest that is enough.
std::vector<Advice> shown_advice(const FitReport& fit) {
  const auto helps = [&](const Advice& advice) { return advice.verdict < fit.verdict; };
  std::vector<Advice> shown = fit.advice;
  if (shown.size() <= kMostAdvice) return shown;
  const auto enough = std::find_if(shown.begin(), shown.end(), helps);
  if (enough >= shown.begin() + kMostAdvice && enough != shown.end()) shown[kMostAdvice - 1] = *enough;
  shown.resize(kMostAdvice);
  return shown;
}

void add_verdict(const Report& report, Page& page) {
  const FitReport& fit = *report.fit;
  const MemoryReport& memory = report.memory;
  if (memory.device_total) {  // the sum of the two below
    const bool holds = *memory.device_total <= fit.capacity;
    std::string total = (holds ? "The driver will show " : "The driver would show ") +
                        format_both(*memory.device_total) + ": pool " + format_gib(*memory.reserved) +
                        ", context and workspaces " + format_gib(*memory.framework);
    if (!holds && fit.verdict != Verdict::no) total += "; before that, the allocator gives back what it only keeps";
    page.line(total, Tone::plain, 2);
  }
  const Bytes distance(std::abs(fit.headroom));
  std::string verdict;
  if (fit.verdict == Verdict::no) {
    verdict = "DOES NOT FIT: " + format_both(distance) + " too much" + (fit.note.empty() ? "" : "; " + fit.note) + ".";
  } else {
    verdict = (fit.verdict == Verdict::tight ? "TIGHT: it fits by " : "FITS: ") + format_both(distance) +
              (fit.verdict == Verdict::tight ? ", less than the estimate is sure of." : " to spare.");
    if (fit.max_batch) verdict += " Largest micro-batch: " + format_count(*fit.max_batch) + ".";
    if (fit.max_seq) verdict += " Longest sequence: " + format_count(*fit.max_seq) + ".";
  }
  page.line(verdict,
            fit.verdict == Verdict::fits    ? Tone::good
            : fit.verdict == Verdict::tight ? Tone::warning
                                            : Tone::bad,
            2);
  for (const Advice& advice : shown_advice(fit)) {
    std::string line = advice.change + " saves " + format_gib(advice.saves);
    if (!advice.costs.empty()) line += ", costs " + advice.costs;
    if (advice.verdict < fit.verdict) line += advice.verdict == Verdict::fits ? ": then it fits" : ": then it is tight";
    page.bullet(line);
  }
}

// Hours and kWh: whole where there are many, so many digits that a price times them gives what stands beside them.
std::string amount(double value) {
  constexpr double many = 1000;
  return value < many ? format_significant(value, 4) : format_count(static_cast<Int128>(std::llround(value)));
}

std::string basis_words(const std::string& basis) {
  if (basis == "mfu") return "from the MFU given";
  if (basis == "measured") return "from measured rates";
  return "from the roofline";
}

void add_time(const Report& report, Page& page) {
  const TimeReport& time = *report.time;
  page.heading(report.cost ? "Time and cost" : "Time");
  if (time.step) {
    std::string step = "A step takes " + format_time(*time.step) + " (" + basis_words(time.basis);
    if (time.lower_bound_step && *time.lower_bound_step < *time.step)
      step += "; no less than " + format_time(*time.lower_bound_step);
    if (time.band) step += "; likely " + format_time(time.band->first) + " to " + format_time(time.band->second);
    page.line(step + ")", Tone::plain, 2);
  }
  std::string rates;
  constexpr double few = 100;  // tokens a second: the fraction counts
  if (const double tokens = time.tokens_per_second; tokens > 0)
    rates = (tokens < few ? format_significant(tokens, 3) : format_count(static_cast<Int128>(std::llround(tokens)))) +
            " tokens/s";
  if (time.mfu > 0) rates += (rates.empty() ? "" : "; ") + std::string("MFU ") + format_percent(time.mfu);
  if (time.hfu > 0) rates += ", HFU " + format_percent(time.hfu);
  if (!rates.empty()) {
    rates += " of " + format_rate(report.device->peak) + " dense " + report.device->peak_key +
             (report.device->count > 1 ? " each" : "");
    page.line(rates, Tone::plain, 2);
  }
  if (!time.parts.empty()) {
    std::vector<std::string> parts;
    for (const auto& [name, seconds] : time.parts) parts.push_back(name + " " + format_percent(seconds / *time.step));
    page.line("Of it " + join(parts) + " (" + counted(time.kernels, "kernel") + ")", Tone::plain, 2);
  }
  if (time.training) {
    std::string training = format_short_count(*report.run.tokens) +
                           (*report.run.tokens == 1 ? " token takes " : " tokens take ") + format_time(*time.training);
    if (time.steps) training += " in " + counted(*time.steps, "step");
    if (report.cost) {
      training += "; " + amount(report.cost->device_hours) + " device-hours";
      if (report.cost->usd) training += ", " + format_dollars(*report.cost->usd);
      if (report.cost->energy_kwh) training += ", " + amount(*report.cost->energy_kwh) + " kWh";
    }
    page.line(training, Tone::plain, 2);
  }
  if (report.checkpoint && time.step && report.run.tokens) {  // of a training run
    std::string transfers = "A checkpoint is " + format_both(report.checkpoint->bytes) + ", " +
                            format_time(report.checkpoint->write) + " at " + format_rate(report.checkpoint->rate);
    if (report.input) {
      transfers += "; a step's input is " + format_gib(report.input->per_step) + ", " +
                   format_time(report.input->pageable) + " from pageable memory" +
                   (report.input->hidden ? ": it hides" : ": it does not hide");
    }
    page.line(transfers, Tone::plain, 2);
  }
}

}  // namespace

Page estimate_page(const Report& report, std::size_t width) {
  Page page;
  add_title(report, page);
  add_job(report, page);
  page.heading("Counted");
  page.table(rule_and_exact(report));
  if (report.memory.phases.empty()) {
    add_sizes(report, page);
  } else {
    add_phases(report, width, page);
  }
  if (report.fit) add_verdict(report, page);
  if (report.time) add_time(report, page);
  if (!report.scope.empty()) {
    page.heading("Not in these numbers");
    for (const std::string& line : report.scope) page.bullet(line);
  }
  return page;
}

}  // namespace llmcalc::report
