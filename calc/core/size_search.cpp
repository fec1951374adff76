#include "core/size_search.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/adapters.hpp"
#include "core/passes/memory.hpp"

namespace llmcalc {
namespace {

class Candidates {
 public:
  void add(SizedTensor tensor) {
    if (tensor.bytes <= Bytes(0)) return;
    const auto key = std::make_tuple(tensor.name, to_string(tensor.shape), static_cast<int>(tensor.dtype));
    const auto [where, is_new] = known_.try_emplace(key, all_.size());
    if (is_new)
      all_.push_back(std::move(tensor));
    else
      all_[where->second].count = std::max(all_[where->second].count, tensor.count);
  }
  const std::vector<SizedTensor>& all() const { return all_; }

 private:
  std::vector<SizedTensor> all_;
  std::map<std::tuple<std::string, std::string, int>, std::size_t> known_;
};

// "model.layers.*.self_attn.q_proj.weight"
std::string whole_name(const Parameters& parameters, const Parameter& p) {
  if (p.layer_kind < 0) return p.name;
  return parameters.kinds()[static_cast<std::size_t>(p.layer_kind)].prefix + "*." + p.name;
}

void add_parameters(Candidates& candidates, const Parameters& parameters, const StepPlan& plan) {
  const Precision& precision = *plan.precision;
  for (const Parameter& p : parameters.all()) {
    const Count n = checked::multiply(p.copies, parameters.instances(p));
    const std::string name = whole_name(parameters, p);
    const auto of_dtype = [&](const char* what, DType dtype) {
      candidates.add({what + name, p.shape, dtype, size_of(dtype) * llmcalc::elements(p.shape), n});
    };
    if (p.quantised)
      candidates.add({"4-bit weight " + name, p.shape, DType::uint8, packed_4bit(llmcalc::elements(p.shape)), n});
    else
      of_dtype("weight ", p.always_float32 ? DType::float32 : p.stored.value_or(precision.weight));
    if (!p.trainable) continue;
    of_dtype("gradient of ", p.always_float32 ? DType::float32 : precision.gradient);
    if (precision.master && !p.always_float32) of_dtype("master copy of ", *precision.master);
  }
}

void add_sums(Candidates& candidates, const MemoryReport& memory) {
  const std::pair<const char*, Bytes> sums[] = {
      {"all weights", memory.parameters},
      {"all gradients", memory.gradients},
      {"all master copies", memory.master_weights},
      {"all optimizer states", memory.optimizer_states},
      {"all that autograd keeps", memory.saved_for_backward.value_or(Bytes())},
      {"the autocast cache", memory.autocast_cache.value_or(Bytes())}};
  for (const auto& [name, bytes] : sums) candidates.add({name, {}, DType::uint8, bytes, 1});
}

class Search {
 public:
  Search(Bytes size, double tolerance, std::size_t most) : size_(size), tolerance_(tolerance), most_(most) {}

  void consider(std::vector<SizedTensor> tensors) {
    Bytes sum;
    for (const SizedTensor& tensor : tensors) sum += tensor.total();
    const double deviation = sum.as_double() / size_.as_double() - 1;
    if (std::abs(deviation) <= tolerance_) {
      found_.push_back({std::move(tensors), sum, deviation});
    } else if (found_.empty() && tensors.size() == 1) {
      nearest_.push_back({std::move(tensors), sum, deviation});
    }
  }
  bool done() const { return found_.size() >= most_; }
  bool found() const { return !found_.empty(); }

  SizeAnswer answer() {
    constexpr std::size_t nearest_shown = 3;
    const auto closer = [](const SizeMatch& a, const SizeMatch& b) {
      return std::abs(a.deviation) < std::abs(b.deviation);
    };
    SizeAnswer answer;
    answer.near = found_.empty();
    answer.matches = answer.near ? std::move(nearest_) : std::move(found_);
    if (answer.near) std::stable_sort(answer.matches.begin(), answer.matches.end(), closer);
    const std::size_t shown = answer.near ? std::min(nearest_shown, most_) : most_;
    if (answer.matches.size() > shown) answer.matches.resize(shown);
    return answer;
  }

 private:
  Bytes size_;
  double tolerance_;
  std::size_t most_;
  std::vector<SizeMatch> found_, nearest_;
};

SizedTensor one_of(SizedTensor tensor) {
  tensor.count = 1;
  return tensor;
}

// Of each size one, in the order they came.
std::vector<SizedTensor> distinct_sizes(const std::vector<SizedTensor>& all) {
  std::vector<SizedTensor> distinct;
  std::set<Count> seen;
  for (const SizedTensor& tensor : all)
    if (seen.insert(tensor.bytes.value()).second) distinct.push_back(one_of(tensor));
  return distinct;
}

}  // namespace

SizeAnswer find_size(Bytes size, double tolerance, const Model& model, const StepPlan& plan, std::size_t most) {
  std::vector<AllocatedRecord> made;
  const TracedStep step = trace_step(model, plan, nullptr, nullptr, &made);
  const MemoryReport memory = account_memory(step);
  Candidates candidates;
  for (const AllocatedRecord& record : made)
    candidates.add({step.trace.modules()[record.module], record.shape, record.dtype, record.bytes, record.repeat});
  add_parameters(candidates, parameters_of(model, plan), plan);
  add_sums(candidates, memory);

  Search search(size, tolerance, most);
  for (const SizedTensor& tensor : candidates.all()) search.consider({one_of(tensor)});
  for (const SizedTensor& tensor : candidates.all())
    if (tensor.count > 1) search.consider({tensor});
  // Sums tell something only where no tensor is that big itself.
  const std::vector<SizedTensor> sizes = distinct_sizes(candidates.all());
  if (!search.found())
    for (std::size_t i = 0; i < sizes.size() && !search.done(); ++i)
      for (std::size_t j = i; j < sizes.size(); ++j) search.consider({sizes[i], sizes[j]});
  constexpr std::size_t most_for_three = 200;
  if (!search.found() && sizes.size() <= most_for_three)
    for (std::size_t i = 0; i < sizes.size() && !search.done(); ++i)
      for (std::size_t j = i; j < sizes.size(); ++j)
        for (std::size_t k = j; k < sizes.size(); ++k) {
          const double sum = (sizes[i].bytes + sizes[j].bytes + sizes[k].bytes).as_double();
          if (std::abs(sum / size.as_double() - 1) <= tolerance) search.consider({sizes[i], sizes[j], sizes[k]});
        }
  return search.answer();
}

}  // namespace llmcalc
