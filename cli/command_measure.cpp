// `llmcalc measure`: what this machine really does, verified, as a table and as a device profile.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <utility>

#include "cli/all_commands.hpp"
#include "cli/atomic_file.hpp"
#include "cli/measure_step.hpp"
#include "cli/output_table.hpp"
#include "cli/run_options.hpp"
#include "core/achieved_rates.hpp"
#include "core/quantity.hpp"
#include "core/suggest.hpp"
#include "core/version.hpp"
#include "kernels/backends.hpp"
#include "kernels/campaign.hpp"
#include "kernels/replay/backend.hpp"
#include "kernels/replay/recorder.hpp"
#include "kernels/transfer_fit.hpp"
#include "read/load.hpp"
#include "report/measure.hpp"

namespace llmcalc::cli {

namespace {

constexpr std::size_t most_recording = 64 << 20;  // bytes

std::atomic<bool> stop_requested{false};

extern "C" void on_stop_signal(int) { stop_requested = true; }

// The first Ctrl-C ends the sampling; a second one ends the program.
void catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

Exit list_backends(Output& output) {
  report::Table table{{{"backend"}, {"device"}, {"usable"}, {"why not", report::Align::left, "why_not"}}, {}};
  for (const Availability& one : all_backends())
    table.rows.push_back({one.backend, one.device, one.why_not.empty() ? "yes" : "no", one.why_not});
  table.rows.push_back({"replay", "recorded samples: --backend replay:FILE", "yes", ""});
  write_table("backends", table, output);
  return Exit::done;
}

std::unique_ptr<Backend> chosen_backend(const Arguments& arguments) {
  const std::string name = arguments.get("backend").value_or("");
  const std::string replay = "replay:";
  if (name.empty()) return open_best_backend();
  if (name.compare(0, replay.size(), replay) != 0) return open_backend(name);
  const std::string file = name.substr(replay.size());
  return std::make_unique<replay::ReplayBackend>(read_file(file, most_recording), file);
}

std::string nearest_or_all(const std::string& name, const std::vector<std::string>& known) {
  std::string all = did_you_mean(name, known);
  if (!all.empty()) return all;
  for (const std::string& one : known) all += (all.empty() ? "one of " : ", ") + one;
  return all;
}

std::vector<std::string> only_names(const Arguments& arguments) {
  std::vector<std::string> names;
  const std::vector<std::string> known = plannable_names();
  for (const std::string& list : arguments.all("only")) {
    for (std::size_t start = 0; start <= list.size();) {
      const std::size_t end = std::min(list.find(',', start), list.size());
      const std::string name = list.substr(start, end - start);
      if (std::find(known.begin(), known.end(), name) == known.end())
        throw Error(Exit::usage, "--only: there is no workload '" + name + "'", nearest_or_all(name, known));
      if (name == "step" && !arguments.has("model"))
        throw Error(Exit::usage, "--only step: of which model?", "--model MODEL, with the run options");
      names.push_back(name);
      start = end + 1;
    }
  }
  return names;
}

// "Intel(R) Xeon(R) Processor" -> measured-intel-r-xeon-r-processor.yaml
std::string default_file(const std::string& device) {
  std::string name = "measured-";
  for (char c : device) {
    const bool upper = c >= 'A' && c <= 'Z', plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (upper)
      name += static_cast<char>(c - 'A' + 'a');
    else if (plain)
      name += c;
    else if (name.back() != '-')
      name += '-';
  }
  while (name.back() == '-') name.pop_back();
  return name + ".yaml";
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &utc);
  return text;
}

// A line that is written over, on a terminal only.
void show_progress(const Progress& progress) {
  if (isatty(STDERR_FILENO) == 0) return;
  const double left = std::max(0.0, progress.budget - progress.seconds);
  std::fprintf(stderr, "\r[%zu/%zu] %s, at most %.0f s left\x1b[K", progress.done + 1, progress.groups,
               progress.now.c_str(), left);
}

void end_progress() {
  if (isatty(STDERR_FILENO) != 0) std::fputs("\r\x1b[K", stderr);
}

// What is usual for a device of that name, where the catalogue knows it.
std::vector<std::string> expectations(const report::Measured& measured) {
  std::vector<std::string> words;
  Device stated;
  try {
    Diagnostics ignored;
    stated = load_device(measured.device, ignored);
  } catch (const Error&) {
    return words;  // not in the catalogue
  }
  const auto compare = [&](const std::string& what, double rate, double peak, const std::string& shown,
                           const Achieved& usual) {
    constexpr double normal = 0.95;  // of what others measured
    const double share = rate / peak;
    words.push_back(what + ": " + format_percent(share) + " of the stated " + shown + ": " +
                    (share >= normal * usual.share ? "normal" : "less than usual") + " (" +
                    format_percent(usual.share) + ": " + usual.source + ")");
  };
  if (measured.bandwidth && stated.memory_bandwidth)
    compare("memory", measured.bandwidth->value(), stated.memory_bandwidth->value(),
            format_rate(*stated.memory_bandwidth), achieved_copy(stated));
  for (const auto& [dtype, rate] : measured.peak) {
    const auto peak = stated.peak.find(dtype);
    if (peak != stated.peak.end())
      compare(dtype, rate.value(), peak->second.value(), format_rate(peak->second), achieved_matmul(stated, dtype));
  }
  return words;
}

// Throws Error(bad_input) for a file without `mark` near its beginning: it is not one that a measurement wrote.
void refuse_to_lose(const std::string& path, const std::string& mark, const std::string& option) {
  constexpr std::size_t enough = 4096;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return;
  std::ifstream in(path, std::ios::binary);
  std::string start(enough, '\0');
  in.read(start.data(), static_cast<std::streamsize>(enough));
  start.resize(static_cast<std::size_t>(in.gcount()));
  if (!start.empty() && start.find(mark) == std::string::npos)
    throw Error(Exit::bad_input, option + " " + path + ": there is a file of another kind, which would be lost",
                "give another path");
}

std::vector<MeasuredWorkload> resumed(const std::string& file, const std::string& device, const std::string& job) {
  if (access(file.c_str(), F_OK) != 0) return {};
  Diagnostics diagnostics;
  const Device before = load_device(file, diagnostics);
  if (before.name != device)
    throw Error(Exit::bad_input, file + ": measured on " + before.name + ", and this is " + device,
                "another --out, or no --resume");
  const auto step = before.measured_method.find("step");
  if (step != before.measured_method.end() && !job.empty() && step->second != job)
    throw Error(Exit::bad_input, file + ": holds the step of " + step->second + ", and this is " + job,
                "another --out, or the options it was measured with");
  std::vector<MeasuredWorkload> kept;
  for (const MeasuredWorkload& w : before.measured) {
    if (w.verified) kept.push_back(w);
  }
  return kept;
}

Effort effort_from(const Arguments& arguments) {
  Effort effort = Effort::usual;
  int given = 0;
  for (const auto& [name, one] :
       {std::pair{"tiny", Effort::tiny}, std::pair{"quick", Effort::quick}, std::pair{"full", Effort::full}}) {
    if (!arguments.has(name)) continue;
    effort = one;
    ++given;
  }
  if (given > 1) throw Error(Exit::usage, "--tiny, --quick and --full exclude each other");
  return effort;
}

std::string words_for(Effort effort) {
  switch (effort) {
    case Effort::tiny: return "tiny: the rates mean nothing";
    case Effort::quick: return "quick";
    case Effort::usual: return "usual";
    case Effort::full: return "full";
  }
  return "";
}

// 0: not asked for.
double sustained_seconds(const Arguments& arguments) {
  const std::optional<std::string> given = arguments.get("sustained");
  if (!given) return 0;
  constexpr double least = 2, most = 3600;  // a burst needs some samples, and nobody waits longer
  const Parsed<Seconds> parsed = parse_duration(*given);
  if (!parsed) throw Error(Exit::bad_input, "--sustained: " + parsed.message, "a time, such as 30s");
  if (!((*parsed).value() >= least && (*parsed).value() <= most))
    throw Error(Exit::bad_input, "--sustained: " + *given + " is not from 2 s to 1 h", "--sustained 30s");
  return (*parsed).value();
}

void write(const report::Measured& measured, Output& output) {
  switch (output.format) {
    case Format::json: output.out = report::measure_json(measured).dump(); break;
    case Format::csv: output.out = report::csv_table(report::measure_table(measured.workloads)); break;
    case Format::markdown: output.out = report::measure_text(measured, true, false); break;
    case Format::text: output.out = report::measure_text(measured, false, output.style()); break;
  }
}

Exit run(const Arguments& arguments, Output& output) {
  if (arguments.has("list-backends")) return list_backends(output);
  const Effort effort = effort_from(arguments);
  const std::vector<std::string> only = only_names(arguments);
  const double sustained = sustained_seconds(arguments);
  const std::unique_ptr<Backend> chosen = chosen_backend(arguments);
  replay::Recorder recorder(*chosen);
  Backend& backend = recorder;
  const DeviceInfo info = backend.info();
  const StepToMeasure step = step_to_measure(arguments, backend, info, output);
  Plan plan = make_plan(info, effort, only, step.operations);
  plan.sustained = sustained;
  const std::string file = arguments.get("out").value_or(default_file(info.name));

  report::Measured measured;
  measured.device = info.name;
  measured.compute_capability = info.compute_capability;
  measured.memory = info.memory;
  measured.cache = info.last_level_cache;
  measured.method = info.method;
  measured.method["program"] = "llmcalc " + std::string(version);
  measured.method["date"] = today();
  measured.method["effort"] = words_for(effort);
  measured.method["data"] = "uniform in [-1, 1)";
  measured.method["bytes"] = "read + written";
  measured.method["statistic"] = "median; noise: half its 95 % interval (moving-block bootstrap) as a share of it";
  if (!step.job.empty()) measured.method["step"] = step.job;
  const auto profile_of = [&](const std::vector<MeasuredWorkload>& found) {
    measured.workloads = found;
    measured.transfers = transfers_of(found);
    const MeasuredCeilings best = ceilings(found);
    measured.peak = best.peak;
    measured.bandwidth = best.bandwidth;
    return report::measured_profile(measured);
  };

  const std::vector<MeasuredWorkload> known =
      arguments.has("resume") ? resumed(file, info.name, step.job) : std::vector<MeasuredWorkload>{};
  refuse_to_lose(file, "\nmeasured:", "--out");
  require_writable(file, profile_of(known));
  const std::optional<std::string> recording = arguments.get("record");
  if (recording) refuse_to_lose(*recording, "llmcalc.replay/1", "--record");
  if (recording) require_writable(*recording, recorder.text());
  catch_stop_signals();
  CampaignHooks hooks;
  hooks.before = show_progress;
  const auto save = [&](const Campaign& so_far) {
    replace_file(file, profile_of(so_far.found));
    if (recording) replace_file(*recording, recorder.text());
  };
  hooks.after = save;
  const Campaign campaign = run_campaign(backend, info, plan, known, stop_requested, hooks);
  end_progress();

  if (campaign.found.empty()) {
    std::string why = campaign.left_out.empty() ? "" : ": " + campaign.left_out.front();
    throw Error(campaign.interrupted ? Exit::measurement_failed : Exit::not_available,
                "nothing could be measured" + why);
  }
  save(campaign);
  measured.left_out = campaign.left_out;
  measured.expected = expectations(measured);
  write(measured, output);
  const auto warn = [&](std::string message, std::string hint) {
    output.warnings.push_back({Severity::warning, {}, std::move(message), std::move(hint)});
  };
  if (campaign.interrupted) {
    warn("interrupted; " + file + " holds what was found", "--resume goes on from there");
    return Exit::measurement_failed;
  }
  if (!campaign.all_verified()) {
    warn("not everything that was measured is right: see FAILED in the table", "");
    return Exit::measurement_failed;
  }
  if (campaign.any_noisy() && effort > Effort::quick && !arguments.has("allow-noisy")) {
    warn("some workloads never settled", "end what else is running, or accept it with --allow-noisy");
    return Exit::measurement_failed;
  }
  return Exit::done;
}

}  // namespace

Command measure_command() {
  Command command;
  command.name = "measure";
  command.summary = "measure this machine, verify, write a device profile";
  command.description =
      "Runs matrix products, passes over memory and, with --model, every distinct operation of a model's step; checks "
      "what they computed; writes a profile that stands wherever a DEVICE does.\n\n"
      "The profile is whole after every workload, so that an interrupt loses the one in progress at most.";
  command.examples = {"llmcalc measure --quick",
                      "llmcalc measure --quick --model gpt2 --seq 256 --precision fp32 --out cpu.yaml",
                      "llmcalc measure --list-backends", "llmcalc measure --only copy,triad --backend cpu --full"};
  const std::string what = "What is measured", how = "How long, and where to";
  command.options = {
      {.name = "backend",
       .value = "cpu|cuda|replay:FILE",
       .help = "what is measured; replay plays back recorded samples",
       .shown_default = "cuda if usable, else cpu",
       .group = what},
      {.name = "list-backends", .help = "every backend, and why it cannot be used here", .group = what},
      {.name = "only",
       .value = "NAME,...",
       .help = "these workloads alone: copy, triad, matmul, ..., step (the model's operations)",
       .group = what},
      {.name = "model",
       .value = "MODEL",
       .help = "measure the operations of this model's step, with the run options",
       .group = what},
      {.name = "quick",
       .help = "at most 10 s on a processor (20 s on a busy one), 20 s on a GPU; noisy values are marked, exit 0",
       .group = how},
      {.name = "full", .help = "at most 5 min", .group = how},
      {.name = "tiny",
       .help = "every kernel once on a few KiB, for valgrind or compute-sanitizer; the rates mean nothing",
       .group = how},
      {.name = "sustained",
       .value = "TIME",
       .help = "then run the fastest product and pass so long each: burst and sustained rates apart",
       .group = how},
      {.name = "out", .value = "FILE", .help = "the profile", .shown_default = "measured-<device>.yaml", .group = how},
      {.name = "record", .value = "FILE", .help = "keep the raw samples, for --backend replay:FILE", .group = how},
      {.name = "resume", .help = "go on with what FILE already holds", .group = how},
      {.name = "allow-noisy", .help = "exit 0 even when a workload never settled", .group = how},
  };
  take_run_options(command, not_of_one_step(),
                   "a step is measured as it runs on one device; `llmcalc estimate` takes it");
  command.run = run;
  return command;
}

}  // namespace llmcalc::cli
