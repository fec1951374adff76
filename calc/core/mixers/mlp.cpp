// An MLP in a mixer's place.
#include "core/mixers/mixers.hpp"
#include "core/transformer/transformer.hpp"

namespace llmcalc {
namespace {

class MlpMixer final : public Mixer {
 public:
  MlpMixer(const MlpSpec& spec, Count hidden) : spec_(spec), hidden_(hidden) {}

  void add_parameters(Parameters& p) override {
    const Parameters::Within half(p, Half::mlp);
    const std::string prefix = spec_.name + ".";
    if (spec_.gated) weights_.gate = add_linear(p, prefix + spec_.gate_name, hidden_, spec_.inner, spec_.up_bias);
    weights_.up = add_linear(p, prefix + spec_.up_name, hidden_, spec_.inner, spec_.up_bias);
    weights_.down = add_linear(p, prefix + spec_.down_name, spec_.inner, hidden_, spec_.down_bias);
  }

  Tensor run(Trace& t, const Job& job, const Tensor& x) const override { return run_mlp(t, job, spec_, weights_, x); }

 private:
  MlpSpec spec_;
  Count hidden_;
  MlpWeights weights_;
};

}  // namespace

std::shared_ptr<Mixer> make_mlp_mixer(const MlpSpec& spec, Count hidden) {
  return std::make_shared<MlpMixer>(spec, hidden);
}

}  // namespace llmcalc
