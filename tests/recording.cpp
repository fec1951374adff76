// What was recorded plays back as what was measured; long runs; what is known already.
#include <atomic>
#include <map>
#include <string>

#include "catch.hpp"
#include "kernels/campaign.hpp"
#include "kernels/cpu/backend.hpp"
#include "kernels/replay/backend.hpp"
#include "kernels/replay/recorder.hpp"

using namespace llmcalc;

namespace {

const std::atomic<bool> go_on{false};

Plan small_plan() {
  Limits limits;
  limits.fewest = limits.most = 5;
  limits.shortest_sample = 1e-5;
  limits.seconds = 100;
  Plan plan;
  plan.seconds = 100;
  Workload product = matmul_workload(DType::float32, 33, 17, 65, 1, "NT");
  product.cold = false;
  Workload attention = attention_workload(Kernel::attention_backward, DType::float32, {1, 2, 1, 33, 8, 8, 33, 0});
  attention.cold = false;
  Workload loop;
  loop.name = "peak";
  loop.kernel = Kernel::peak;
  loop.elements = 100;
  loop.cold = false;
  Workload launch;
  launch.name = "launch";
  launch.kernel = Kernel::launch;
  launch.cold = false;
  for (const Workload& w : {memory_workload(Kernel::copy, DType::float32, 4099), product, loop, launch,
                            intensity_workload(4099, 3), memory_workload(Kernel::softmax, DType::float32, 640, 64),
                            attention, memory_workload(Kernel::copy, DType::float32, Count{1} << 50)})
    plan.groups.push_back({{w}, limits});
  return plan;
}

std::string kept_of(const Campaign& campaign) {
  std::string text;
  for (const MeasuredWorkload& w : campaign.found)
    text += key_of(w) + (w.verified ? " right " : " wrong ") + std::to_string(w.samples) + " " + to_string(w.flops) +
            " " + to_string(w.bytes) + " " + w.stop + "\n";
  return text + std::to_string(campaign.left_out.size());
}

const std::string steady = "llmcalc.replay/1\ndevice Steady\nmemory 1000000\ncache 1000\n";

// Of the first workload the name of which is given.
const MeasuredWorkload* found(const Campaign& campaign, const std::string& span) {
  for (const MeasuredWorkload& w : campaign.found) {
    if (w.span == span) return &w;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("A recording of the processor plays back as it was") {
  cpu::CpuBackend machine({}, 0, Bytes(1 << 16));
  replay::Recorder recorder(machine);
  const Campaign live = run_campaign(recorder, recorder.info(), small_plan(), {}, go_on, {});
  REQUIRE(live.found.size() == 7);
  REQUIRE(live.left_out.size() == 1);  // nobody has 4 PiB

  replay::ReplayBackend played(recorder.text(), "recorded");
  CHECK(played.info().name == machine.info().name);
  replay::Recorder again(played);
  const Campaign replayed = run_campaign(again, again.info(), small_plan(), {}, go_on, {});
  CHECK(kept_of(replayed) == kept_of(live));
  for (std::size_t i = 0; i < live.found.size(); ++i) {
    INFO(key_of(live.found[i]));
    CHECK(replayed.found[i].median.value() == Approx(live.found[i].median.value()).epsilon(1e-9));
    CHECK(replayed.found[i].noise == Approx(live.found[i].noise).epsilon(1e-6));
    CHECK(replayed.found[i].disturbed == live.found[i].disturbed);
  }

  // A recording of the replay is the recording, comments apart.
  const std::string first = recorder.text(), second = again.text();
  CHECK(first.substr(first.find("workload ")) == second.substr(second.find("workload ")));
}

TEST_CASE("A recording keeps a failed verification, and its reason") {
  const std::string text = steady + "workload *\nsamples 0.01\nerror 0.5\nlimit 0.1\nproblem the last row is missing\n";
  replay::ReplayBackend wrong(text, "wrong");
  replay::Recorder recorder(wrong);
  Plan plan = small_plan();
  plan.groups.pop_back();  // what no machine has memory for
  const Campaign campaign = run_campaign(recorder, recorder.info(), plan, {}, go_on, {});
  replay::ReplayBackend played(recorder.text(), "recorded");
  const Campaign replayed = run_campaign(played, played.info(), plan, {}, go_on, {});
  REQUIRE(replayed.found.size() == 7);
  for (const MeasuredWorkload& w : replayed.found) {
    CHECK_FALSE(w.verified);
    CHECK(w.problem == "the last row is missing");
  }
}

TEST_CASE("The same recording gives the same verdicts twice") {
  const std::string text = steady + "workload *\nsamples 0.01 0.0101 0.0099 0.02 0.01\n";
  replay::ReplayBackend a(text, "a"), b(text, "b");
  CHECK(kept_of(run_campaign(a, a.info(), small_plan(), {}, go_on, {})) ==
        kept_of(run_campaign(b, b.info(), small_plan(), {}, go_on, {})));
}

TEST_CASE("The processor's kernels are right twice, and nothing that is known is measured again") {
  cpu::CpuBackend machine({}, 0, Bytes(1 << 16));
  const DeviceInfo info = machine.info();
  const Campaign first = run_campaign(machine, info, small_plan(), {}, go_on, {});
  const Campaign second = run_campaign(machine, info, small_plan(), {}, go_on, {});
  for (const Campaign* campaign : {&first, &second}) {
    REQUIRE(campaign->found.size() == 7);
    for (const MeasuredWorkload& w : campaign->found) {
      INFO(key_of(w) << ": " << w.problem);
      CHECK(w.verified);
    }
  }
  // Even where the backend chose the code: the record then names it, and the plan does not.
  CHECK(run_campaign(machine, info, small_plan(), first.found, go_on, {}).found.size() == first.found.size());
}

TEST_CASE("A long run tells the burst from what is sustained") {
  // The first tenth of 20 s takes 10 ms a run, the second half 12.5 ms: power or heat set in, and the device says so.
  std::string samples, disturbed;
  for (int i = 0; i < 400; ++i) samples += " 0.010", disturbed += " 0";
  for (int i = 0; i < 2000; ++i) samples += " 0.0125", disturbed += " 1";
  replay::ReplayBackend backend(steady + "workload *\nsamples" + samples + "\ndisturbed" + disturbed + "\n",
                                "throttling");
  Plan plan = small_plan();
  plan.groups.resize(1);
  plan.sustained = 20;
  const Campaign campaign = run_campaign(backend, backend.info(), plan, {}, go_on, {});
  const MeasuredWorkload *burst = found(campaign, "burst"), *sustained = found(campaign, "sustained");
  REQUIRE(burst != nullptr);
  REQUIRE(sustained != nullptr);
  CHECK(burst->median.value() == Approx(0.010));
  CHECK(sustained->median.value() == Approx(0.0125));
  CHECK(burst->disturbed == 0);
  CHECK(sustained->disturbed == sustained->samples);
  CHECK_FALSE(burst->noisy);
  CHECK(sustained->noisy);  // all alike, and every one of them disturbed
  CHECK(burst->verified);
  CHECK(sustained->verified);
  // Ceilings are what lasts.
  Campaign only_burst;
  only_burst.found = {*burst};
  CHECK_FALSE(ceilings(only_burst.found).bandwidth);
  CHECK(ceilings({*sustained}).bandwidth);
}
