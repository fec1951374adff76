#include "kernels/campaign.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

namespace llmcalc {
namespace {

using Clock = std::chrono::steady_clock;

// One sample of products of this size would take so long, going by the best product so far. 0: not known yet.
double expected_seconds(const Workload& w, double best_rate) {
  return (w.kernel == Kernel::matmul || is_attention(w.kernel)) && best_rate > 0 ? w.flops.as_double() / best_rate : 0;
}

std::string label_of(const Workload& w) {
  std::string label = w.operation.empty() ? w.name : w.operation;
  if (w.kernel == Kernel::matmul)
    label += " " + std::to_string(w.m) + "x" + std::to_string(w.n) + "x" + std::to_string(w.k) + " " + layout_of(w);
  if (is_attention(w.kernel))
    label += " " + std::to_string(w.attention.batch * w.attention.heads) + "x" + std::to_string(w.attention.length) +
             "x" + std::to_string(w.attention.qk_size);
  return label + " " + dtype_key(w) + (w.variant.empty() ? "" : " " + w.variant);
}

// Of two records of one device, the one to run on and on.
bool beats(const MeasuredWorkload& a, const MeasuredWorkload& b) {
  const bool product = a.workload == "matmul";
  return product ? a.flops / a.median > b.flops / b.median : a.bytes / a.median > b.bytes / b.median;
}

// The fastest product of each number format, and the fastest pass over memory.
std::vector<Workload> worth_sustaining(const Plan& plan, const std::vector<MeasuredWorkload>& found) {
  std::map<std::string, const MeasuredWorkload*> best;
  for (const MeasuredWorkload& w : found) {
    const bool product = w.workload == "matmul";
    if (!w.verified || !w.op.empty() || !w.span.empty() || w.is_attention() || (!product && w.state != "cold"))
      continue;
    const MeasuredWorkload*& one = best[product ? w.dtype : "memory"];
    if (one == nullptr || beats(w, *one)) one = &w;
  }
  std::vector<Workload> chosen;
  for (const auto& [kind, record] : best) {
    for (const Group& group : plan.groups) {
      for (const Workload& w : group.variants) {
        if (key_of(w) == key_of(*record)) chosen.push_back(w);
      }
    }
  }
  return chosen;
}

void run_sustained(Backend& backend, const DeviceInfo& info, const Plan& plan, const std::atomic<bool>& stop,
                   const CampaignHooks& hooks, Campaign& campaign) {
  const std::vector<Workload> chosen = worth_sustaining(plan, campaign.found);
  for (std::size_t i = 0; i < chosen.size() && !stop; ++i) {
    const double budget = plan.sustained * static_cast<double>(chosen.size());
    if (hooks.before)
      hooks.before(
          {i, chosen.size(), plan.sustained * static_cast<double>(i), budget, label_of(chosen[i]) + ", on and on"});
    for (Outcome& outcome :
         measure_sustained(backend, info, chosen[i], plan.groups.front().limits, plan.sustained, stop)) {
      if (outcome.skipped.empty())
        campaign.found.push_back(std::move(outcome.record));
      else
        campaign.left_out.push_back(label_of(outcome.workload) + " " + outcome.workload.span + ": " + outcome.skipped);
    }
    if (hooks.after) hooks.after(campaign);
  }
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
  for (MeasuredWorkload one : campaign.found) {
    have.insert(key_of(one));
    one.variant.clear();  // it may have been the backend's choice
    have.insert(key_of(one));
  }
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
  if (plan.sustained > 0 && !plan.groups.empty()) run_sustained(backend, info, plan, stop, hooks, campaign);
  campaign.interrupted = stop;
  return campaign;
}

MeasuredCeilings ceilings(const std::vector<MeasuredWorkload>& found) {
  MeasuredCeilings result;
  for (const MeasuredWorkload& w : found) {
    if (!w.verified || !(w.median > Seconds(0)) || w.span == "burst") continue;
    if (w.workload == "matmul" || w.workload == "peak") {
      // The loop in registers on its own clock: other programs cannot slow it down.
      const FlopsPerSecond rate =
          w.flops / (w.workload == "peak" && w.cpu_median > Seconds(0) ? w.cpu_median : w.median);
      FlopsPerSecond& best = result.peak[w.dtype];
      if (rate > best) best = rate;
    }
    const bool pass = w.op.empty() && w.state == "cold" && w.workload != "matmul" && !w.is_attention();
    if (pass && (!result.bandwidth || w.bytes / w.median > *result.bandwidth)) result.bandwidth = w.bytes / w.median;
  }
  return result;
}

}  // namespace llmcalc
