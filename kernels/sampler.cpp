#include "kernels/sampler.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <new>
#include <thread>
#include <utility>

#include "core/diagnostics.hpp"
#include "core/quantity.hpp"
#include "kernels/statistics.hpp"

namespace llmcalc {
namespace {

using Clock = std::chrono::steady_clock;

// Backends move whole elements; a portion of a stream need not divide evenly.
constexpr double bytes_tolerance = 0.01;
// More of the budget than this is not spent on warming up.
constexpr double warm_up_share = 0.25;
// Of a long run: samples of at least so many seconds, after so long a rest; its burst ends after so much of it.
constexpr double sustained_sample = 0.01, idle_before_burst = 0.5, burst_seconds = 1, burst_share = 0.1;

struct Samples {
  std::vector<double> wall, cpu;  // seconds of one run each
  std::vector<bool> disturbed;
};

struct Arm {
  std::unique_ptr<Task> task;
  Count repeats = 1;
  Samples samples;
  std::string problem;
};

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Adds one sample; false when the clock made no sense.
bool sample(Backend& backend, Arm& arm, double& spent) {
  const Timing timing = backend.run(*arm.task, arm.repeats, Outputs::as_they_are);
  const double scale = static_cast<double>(arm.task->workload.portion) / static_cast<double>(arm.repeats);
  if (!(timing.seconds > 0) || !std::isfinite(timing.seconds)) {
    arm.problem = timing.seconds == 0 ? "no time passed while it ran" : "the clock ran backwards";
    return false;
  }
  spent += timing.seconds;
  arm.samples.wall.push_back(timing.seconds * scale);
  arm.samples.cpu.push_back(timing.cpu_seconds * scale);
  arm.samples.disturbed.push_back(timing.disturbed);
  return true;
}

// Runs that are thrown away; finds how many repeats make a sample long enough.
void warm_up(Backend& backend, Arm& arm, const Limits& limits, double share_of_budget) {
  double spent = 0;
  for (Count i = 0; i < limits.warm_up && arm.problem.empty(); ++i) {
    if (i > 0 && spent > share_of_budget) break;
    if (!sample(backend, arm, spent)) return;
    const double last = arm.samples.wall.back() / static_cast<double>(arm.task->workload.portion);
    arm.repeats = std::max<Count>(1, static_cast<Count>(std::ceil(limits.shortest_sample / last)));
  }
  arm.samples = {};
}

// Prepared and warm; else why it cannot be measured.
std::string make_ready(Backend& backend, Arm& arm, const Workload& workload, const Limits& limits, double share) {
  std::string why_not = backend.supports(workload);
  if (!why_not.empty()) return why_not;
  try {
    arm.task = backend.prepare(workload);
    warm_up(backend, arm, limits, share);
  } catch (const Error& error) {
    if (error.exit() != Exit::not_available) throw;
    arm.task.reset();
    why_not = error.diagnostics().front().message;
  } catch (const std::bad_alloc&) {
    arm.task.reset();
    why_not = "not enough memory";
  }
  return why_not;
}

bool settled(const Arm& arm, const Limits& limits) {
  const std::vector<double>& wall = arm.samples.wall;
  return static_cast<Count>(wall.size()) >= limits.fewest && summarise(wall).half_width < limits.target;
}

std::string state_of(const DeviceInfo& info, const Task& task) {
  const Kernel kernel = task.workload.kernel;
  if (kernel == Kernel::launch || kernel == Kernel::peak || is_transfer(kernel)) return "";
  if (!task.workload.cold) return "cached";
  return task.footprint >= cold_caches * info.last_level_cache ? "cold" : "cached";
}

MeasuredWorkload record_of(const DeviceInfo& info, const Task& task, const Samples& samples, const Limits& limits,
                           std::string stop) {
  const Workload& w = task.workload;
  MeasuredWorkload r;
  r.workload = w.name;
  r.dtype = dtype_key(w);
  r.variant = w.variant;
  r.layout = layout_of(w);
  r.span = w.span;
  r.op = w.op;
  r.operation = w.operation;
  r.times = w.times;
  r.portion = w.portion;
  r.flops = w.flops;
  r.bytes = w.bytes();
  if (w.kernel == Kernel::matmul) {
    r.dimensions = {{"batch", w.batch}, {"m", w.m}, {"n", w.n}, {"k", w.k}};
  } else if (is_attention(w.kernel)) {
    r.dimensions = dimensions_of(w.attention);
  } else if (w.op.empty()) {
    r.dimensions = {{"elements", w.elements}};
    if (w.columns > 0) r.dimensions["columns"] = w.columns;
    if (w.rounds > 0) r.dimensions["rounds"] = w.rounds;
  }
  if (!w.op.empty()) {
    r.dimensions["read"] = w.read.value();
    r.dimensions["written"] = w.written.value();
  }
  r.state = state_of(info, task);
  const Summary wall = summarise(samples.wall);
  r.samples = static_cast<Count>(wall.count);
  r.minimum = Seconds(wall.minimum);
  r.p5 = Seconds(wall.p5);
  r.median = Seconds(wall.median);
  r.p95 = Seconds(wall.p95);
  r.noise = std::isfinite(wall.half_width) ? wall.half_width : 1;
  r.cpu_median = Seconds(summarise(samples.cpu).median);
  r.disturbed = std::count(samples.disturbed.begin(), samples.disturbed.end(), true);
  r.stop = std::move(stop);
  r.noisy = !(r.noise < limits.target) || static_cast<Count>(wall.count) < limits.fewest;
  if (2 * r.disturbed > r.samples) {  // samples that are all off by as much look settled
    r.noisy = true;
    r.stop += ", " + std::to_string(r.disturbed) + " of " + std::to_string(r.samples) + " samples disturbed";
  }
  if (std::abs(wall.drift) > drift_limit && std::abs(wall.drift) > 2 * r.noise) {
    r.noisy = true;
    r.stop += ", " + format_percent(std::abs(wall.drift)) + (wall.drift > 0 ? " slower" : " faster") + " half-way";
  }
  return r;
}

std::string bytes_problem(const Task& task) {
  const double expected = task.workload.bytes().as_double() / static_cast<double>(task.workload.portion);
  const double moved = task.moved.as_double();
  if (std::abs(moved - expected) <= bytes_tolerance * std::max(expected, moved)) return "";
  return "the kernel moves " + format_gb(task.moved) + ", the operation " +
         format_gb(Bytes(static_cast<Count>(expected)));
}

// The run that is verified comes after the timed ones, on the same buffers, with what it writes poisoned first.
void verify(Backend& backend, const DeviceInfo& info, Arm& arm, MeasuredWorkload& record) {
  if (arm.problem.empty()) arm.problem = bytes_problem(*arm.task);
  if (arm.problem.empty()) arm.problem = impossible(info, arm.task->workload, record.state, record.median.value());
  if (arm.problem.empty()) {
    backend.run(*arm.task, 1, Outputs::poisoned);
    const Verification found = backend.verify(*arm.task);
    // Written so that an error that is no number fails too.
    if (!(found.passed && found.error <= found.limit)) {
      arm.problem = found.problem.empty() ? "wrong result: error " + format_scientific(found.error, 2) + ", at most " +
                                                format_scientific(found.limit, 2) + " is rounding"
                                          : found.problem;
    }
  }
  record.verified = arm.problem.empty();
  record.problem = arm.problem;
}

}  // namespace

std::string impossible(const DeviceInfo& info, const Workload& w, const std::string& state, double seconds) {
  const double flops = w.flops.as_double() / seconds, bytes = w.bytes().as_double() / seconds;
  const bool product = w.kernel == Kernel::matmul || is_attention(w.kernel);
  const bool counts_flops = product || w.kernel == Kernel::peak || w.kernel == Kernel::intensity;
  if (counts_flops && info.most_flops && flops > possible_margin * info.most_flops->value())
    return "faster than possible: " + format_rate(FlopsPerSecond(flops)) + " where the processor's most is " +
           format_rate(*info.most_flops);
  if (state == "cold" && !product && info.most_bytes && bytes > possible_margin * info.most_bytes->value())
    return "faster than possible: " + format_rate(BytesPerSecond(bytes)) + " where memory's most is " +
           format_rate(*info.most_bytes);
  return "";
}

std::vector<Outcome> measure_group(Backend& backend, const DeviceInfo& info, const std::vector<Workload>& variants,
                                   const Limits& limits, const std::atomic<bool>& stop) {
  std::vector<Outcome> outcomes;
  std::vector<Arm> arms(variants.size());
  const Clock::time_point start = Clock::now();
  for (std::size_t i = 0; i < variants.size(); ++i) {
    outcomes.push_back({variants[i], "", {}, {}});
    const double share = warm_up_share * limits.seconds / static_cast<double>(variants.size());
    outcomes[i].skipped = make_ready(backend, arms[i], variants[i], limits, share);
  }

  // Recorded samples take no time of their own, so what they say they took counts as well.
  double spent = 0;
  std::string why = "settled";
  for (Count round = 0;; ++round) {
    bool open = false;
    for (Arm& arm : arms) open = open || (arm.task && arm.problem.empty() && !settled(arm, limits));
    if (!open && round >= limits.fewest) break;
    if (!open && round > 0) break;
    if (stop) why = "interrupted";
    if (!stop && round >= limits.most) why = "most samples taken";
    if (!stop && round >= limits.fewest && std::max(spent, since(start)) > limits.seconds) why = "time up";
    if (why != "settled") break;
    for (Arm& arm : arms) {
      if (arm.task && arm.problem.empty() && !stop) sample(backend, arm, spent);
    }
  }

  for (std::size_t i = 0; i < arms.size(); ++i) {
    if (!arms[i].task) continue;
    if (arms[i].samples.wall.empty() && arms[i].problem.empty()) arms[i].problem = "interrupted";
    if (stop) {
      outcomes[i].skipped = "interrupted";
      continue;
    }
    outcomes[i].record =
        record_of(info, *arms[i].task, arms[i].samples, limits, settled(arms[i], limits) ? "settled" : why);
    verify(backend, info, arms[i], outcomes[i].record);
    outcomes[i].samples = std::move(arms[i].samples.wall);
  }
  return outcomes;
}

std::vector<Outcome> measure_sustained(Backend& backend, const DeviceInfo& info, const Workload& workload,
                                       const Limits& limits, double seconds, const std::atomic<bool>& stop) {
  Limits long_samples = limits;
  long_samples.shortest_sample = sustained_sample;
  long_samples.warm_up = 1;  // loads what is loaded on first use; more would take the burst away
  Arm arm;
  std::vector<Outcome> outcomes(2);
  for (Outcome& outcome : outcomes) outcome.workload = workload;
  outcomes[0].workload.span = "burst";
  outcomes[1].workload.span = "sustained";
  const std::string why_not = make_ready(backend, arm, outcomes[1].workload, long_samples, seconds);
  if (why_not.empty()) std::this_thread::sleep_for(std::chrono::duration<double>(idle_before_burst));
  std::vector<double> begun;  // seconds after the start
  const Clock::time_point start = Clock::now();
  double spent = 0, now = 0;
  while (why_not.empty() && arm.problem.empty() && !stop && now < seconds) {
    begun.push_back(now);
    sample(backend, arm, spent);
    now = std::max(spent, since(start));
  }
  const double first_end = std::min(burst_seconds, burst_share * seconds), last_begin = seconds / 2;
  for (std::size_t which = 0; which < outcomes.size(); ++which) {
    Outcome& outcome = outcomes[which];
    outcome.skipped = stop ? "interrupted" : why_not;
    if (!outcome.skipped.empty()) continue;
    Samples part;
    for (std::size_t i = 0; i < arm.samples.wall.size(); ++i) {
      if (which == 0 ? begun[i] >= first_end : begun[i] < last_begin) continue;
      part.wall.push_back(arm.samples.wall[i]);
      part.cpu.push_back(arm.samples.cpu[i]);
      part.disturbed.push_back(arm.samples.disturbed[i]);
    }
    if (part.wall.empty() && arm.problem.empty()) outcome.skipped = "one run takes longer than that part of the time";
    if (!outcome.skipped.empty()) continue;
    arm.task->workload.span = outcome.workload.span;
    outcome.record =
        record_of(info, *arm.task, part, limits,
                  which == 0 ? "the first " + format_time(Seconds(first_end))
                             : "from " + format_time(Seconds(last_begin)) + " to " + format_time(Seconds(seconds)));
    verify(backend, info, arm, outcome.record);
    outcome.samples = std::move(part.wall);
  }
  return outcomes;
}

}  // namespace llmcalc
