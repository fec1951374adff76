#include "kernels/campaign.hpp"

#include <algorithm>
#include <chrono>
#include <set>

namespace llmcalc {
namespace {

using Clock = std::chrono::steady_clock;

// One sample of a product of this size would take so long, going by the best product so far. 0: not known yet.
double expected_seconds(const Workload& w, double best_rate) {
  return w.kernel == Kernel::matmul && best_rate > 0 ? w.flops.as_double() / best_rate : 0;
}

std::string label_of(const Workload& w) {
  std::string label = w.operation.empty() ? w.name : w.operation;
  if (w.kernel == Kernel::matmul)
    label += " " + std::to_string(w.m) + "x" + std::to_string(w.n) + "x" + std::to_string(w.k);
  return label + " " + dtype_key(w) + (w.variant.empty() ? "" : " " + w.variant);
}

}  // namespace

bool Campaign::all_verified() const {
  return std::all_of(found.begin(), found.end(), [](const MeasuredWorkload& w) { return w.verified; });
}

bool Campaign::any_noisy() const {
  return std::any_of(found.begin(), found.end(), [](const MeasuredWorkload& w) { return w.noisy; });
}

Campaign run_campaign(Backend& backend, const DeviceInfo& info, const Plan& plan, std::vector<MeasuredWorkload> known,
                      const std::atomic<bool>& stop, const CampaignHooks& hooks) {
  Campaign campaign;
  campaign.found = std::move(known);
  std::set<std::string> have;
  for (const MeasuredWorkload& one : campaign.found) have.insert(key_of(one));
  const Clock::time_point start = Clock::now();
  double best_rate = 0;
  for (std::size_t i = 0; i < plan.groups.size() && !stop; ++i) {
    const Group& group = plan.groups[i];
    std::vector<Workload> missing;
    for (const Workload& w : group.variants) {
      if (have.count(key_of(w)) == 0) missing.push_back(w);
    }
    if (missing.empty()) continue;
    const double spent = std::chrono::duration<double>(Clock::now() - start).count();
    // Warm-up, the fewest samples and the verified run.
    const double runs = static_cast<double>(group.limits.fewest + 3);
    const double needed = runs * expected_seconds(missing.front(), best_rate);
    if (hooks.before) hooks.before({i, plan.groups.size(), spent, plan.seconds, label_of(missing.front())});
    if (spent + needed > plan.seconds || spent > group.latest * plan.seconds) {
      for (const Workload& w : missing) campaign.left_out.push_back(label_of(w) + ": no time left for it");
      continue;
    }
    bool news = false;
    for (Outcome& outcome : measure_group(backend, info, missing, group.limits, stop)) {
      if (!outcome.skipped.empty()) {
        campaign.left_out.push_back(label_of(outcome.workload) + ": " + outcome.skipped);
        continue;
      }
      const MeasuredWorkload& r = outcome.record;
      if (outcome.workload.kernel == Kernel::matmul && r.verified)
        best_rate = std::max(best_rate, (r.flops / r.median).value());
      campaign.found.push_back(std::move(outcome.record));
      news = true;
    }
    if (news && hooks.after) hooks.after(campaign);
  }
  campaign.interrupted = stop;
  return campaign;
}

MeasuredCeilings ceilings(const std::vector<MeasuredWorkload>& found) {
  MeasuredCeilings result;
  std::set<std::string> from_peak;
  for (const MeasuredWorkload& w : found) {
    if (!w.verified || !(w.median > Seconds(0))) continue;
    if (w.workload == "matmul" || w.workload == "peak") {
      // The loop in registers on its own clock: other programs cannot slow it down.
      const FlopsPerSecond rate =
          w.flops / (w.workload == "peak" && w.cpu_median > Seconds(0) ? w.cpu_median : w.median);
      FlopsPerSecond& best = result.peak[w.dtype];
      if (rate > best) best = rate;
    }
    const bool pass = w.op.empty() && w.state == "cold" && w.workload != "matmul";
    if (pass && (!result.bandwidth || w.bytes / w.median > *result.bandwidth)) result.bandwidth = w.bytes / w.median;
  }
  return result;
}

}  // namespace llmcalc
