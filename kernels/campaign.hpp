// A whole measurement: group after group, within the time there is, telling what was found as soon as it is known.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "kernels/plan.hpp"

namespace llmcalc {

struct Progress {
  std::size_t done = 0, groups = 0;
  double seconds = 0, budget = 0;
  std::string now;  // what is being measured
};

struct Campaign {
  std::vector<MeasuredWorkload> found;  // resumed ones first
  std::vector<std::string> left_out;    // "softmax fp32: not enough memory"
  bool interrupted = false;

  bool all_verified() const;
  bool any_noisy() const;
};

struct CampaignHooks {
  std::function<void(const Progress&)> before = {};  // each group
  std::function<void(const Campaign&)> after = {};   // each group that found something; may throw
};

// `known`: found by an earlier run; not measured again.
Campaign run_campaign(Backend& backend, const DeviceInfo& info, const Plan& plan, std::vector<MeasuredWorkload> known,
                      const std::atomic<bool>& stop, const CampaignHooks& hooks);

// What the profile states as the device's own rates, from what was measured.
struct MeasuredCeilings {
  std::map<std::string, FlopsPerSecond>
      peak;  // by dtype: the best verified product; on a processor, the multiply-add loop
  std::optional<BytesPerSecond> bandwidth;  // the best verified cold pass over memory
};
MeasuredCeilings ceilings(const std::vector<MeasuredWorkload>& found);

}  // namespace llmcalc
