#include "core/size_search.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "core/caching_allocator.hpp"
#include "core/passes/memory.hpp"
#include "core/resolve.hpp"

namespace llmcalc {
namespace {

class Candidates {
 public:
  // Tensors alike are one candidate. `tensor.count` says how many layers the one at hand stands for.
  void add(SizedTensor tensor) {
    if (tensor.bytes <= Bytes(0)) return;
    const auto key = std::make_tuple(tensor.name, to_string(tensor.shape), static_cast<int>(tensor.dtype));
    const auto [where, is_new] = known_.try_emplace(key, seen_.size());
    const Count count = tensor.count;
    if (is_new) seen_.push_back({std::move(tensor), 0, 0, 0});
    Seen& seen = seen_[where->second];
    seen.all += count;
    if (count > seen.widest) seen.at_widest = 0;
    seen.widest = std::max(seen.widest, count);
    seen.at_widest += count == seen.widest ? 1 : 0;
  }
  std::vector<SizedTensor> all() const {
    std::vector<SizedTensor> tensors;
    for (const Seen& seen : seen_) {
      tensors.push_back(seen.tensor);
      // A layer may make several alike; all layers make as many.
      tensors.back().count = seen.widest > 1 ? seen.all / seen.at_widest : 1;
    }
    return tensors;
  }

 private:
  struct Seen {
    SizedTensor tensor;
    Count widest, at_widest, all;  // the most layers one stands for, how many of those, layers of all together
  };
  std::vector<Seen> seen_;
  std::map<std::tuple<std::string, std::string, int>, std::size_t> known_;
};

void add_parameters(Candidates& candidates, const Parameters& parameters, const StepPlan& plan) {
  const Precision& precision = *plan.precision;
  for (const Parameter& p : parameters.all()) {
    const Count n = parameters.tensors(p);
    const std::string name = parameters.whole_name(p);
    const auto of_dtype = [&](const char* what, DType dtype) {
      candidates.add({what + name, p.shape, dtype, size_of(dtype) * llmcalc::elements(p.shape), n});
    };
    if (p.quantised)
      candidates.add({"4-bit weight " + name, p.shape, DType::uint8, weight_bytes(p, precision), n});
    else
      of_dtype("weight ", weight_dtype(p, precision));
    if (!p.trainable) continue;
    of_dtype("gradient of ", gradient_dtype(p, precision));
    if (const std::optional<DType> master = master_dtype(p, precision)) of_dtype("master copy of ", *master);
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
    const bool single = tensors.size() == 1 && tensors.front().count == 1;
    if (std::abs(deviation) <= tolerance_)
      found_.push_back({std::move(tensors), sum, deviation});
    else if (single && !tensors.front().shape.empty() && sum < size_ && is_segment_of(sum))
      rounded_.push_back({std::move(tensors), sum, deviation, true});
    else if (single)
      nearest_.push_back({std::move(tensors), sum, deviation});
  }
  // No more singles will come: those that are rounded up to the size follow the exact ones, closest first.
  void end_singles() {
    const auto closer = [](const SizeMatch& a, const SizeMatch& b) { return a.bytes > b.bytes; };
    std::stable_sort(rounded_.begin(), rounded_.end(), closer);
    found_.insert(found_.end(), rounded_.begin(), rounded_.end());
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
    if (answer.near) {
      const auto as_big = [](const SizeMatch& a, const SizeMatch& b) { return a.bytes == b.bytes; };
      std::vector<SizeMatch>& all = answer.matches;
      std::stable_sort(all.begin(), all.end(), closer);
      all.erase(std::unique(all.begin(), all.end(), as_big), all.end());
    }
    const std::size_t shown = answer.near ? std::min(nearest_shown, most_) : most_;
    if (answer.matches.size() > shown) answer.matches.resize(shown);
    return answer;
  }

 private:
  // Smaller blocks share segments of 2 and 20 MiB, which tell nothing about their size.
  bool is_segment_of(Bytes block) const {
    return block >= Bytes(min_large_alloc) &&
           std::abs(segment_for(block).as_double() / size_.as_double() - 1) <= tolerance_;
  }

  Bytes size_;
  double tolerance_;
  std::size_t most_;
  std::vector<SizeMatch> found_, rounded_, nearest_;
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

// Every tensor of a step and what they add up to; and of those that are there together, one of each layer.
struct StepTensors {
  std::vector<SizedTensor> single, of_all_layers;
};
StepTensors tensors_of(const Model& model, const StepPlan& plan) {
  std::vector<AllocatedRecord> made;
  const TracedStep step = trace_step(model, plan, nullptr, nullptr, &made);
  const auto module = [&](std::uint16_t index) { return step.trace.modules()[index]; };
  Candidates single, together;
  for (const AllocatedRecord& record : made)
    single.add({module(record.module), record.shape, record.dtype, record.bytes, 1});
  add_parameters(single, parameters_of(model, plan), plan);
  add_sums(single, account_memory(step));
  for (const KeptRecord& kept : step.trace.kept())
    if (kept.first)
      together.add({module(kept.module) + ", kept for backward", kept.shape, kept.dtype, kept.storage, kept.repeat});
  add_parameters(together, parameters_of(model, plan), plan);
  return {single.all(), together.all()};
}

// What may be tried instead of an option that was not given.
struct Variation {
  const char* option;
  std::vector<std::string> values;
  bool (*is_given)(const RunOptions&);
};
const std::vector<Variation>& variations() {
  using Options = const RunOptions&;
  static const std::vector<Variation> all{
      {"attention", {"eager"}, [](Options given) { return given.attention.has_value(); }},
      {"seq",
       {"512", "1024", "2048", "4096", "8192"},
       [](Options given) { return given.seq.has_value() || given.lengths.has_value(); }},
      {"batch", {"2", "4", "8", "16"}, [](Options given) { return given.batch.has_value(); }},
      {"precision", {"fp32", "bf16"}, [](Options given) { return given.precision.has_value(); }}};
  return all;
}

using Given = std::vector<GivenOption>;

// Every choice of `changes` of the variations that are open.
void choose(std::size_t from, int changes, const std::vector<const Variation*>& open, Given& chosen,
            const std::function<void(const Given&)>& use) {
  if (changes == 0) return use(chosen);
  for (std::size_t i = from; i < open.size(); ++i)
    for (const std::string& value : open[i]->values) {
      chosen.push_back({open[i]->option, value});
      choose(i + 1, changes - 1, open, chosen, use);
      chosen.pop_back();
    }
}

}  // namespace

SizeAnswer find_size(Bytes size, double tolerance, const Model& model, const StepPlan& plan, std::size_t most) {
  const StepTensors tensors = tensors_of(model, plan);
  Search search(size, tolerance, most);
  for (const SizedTensor& tensor : tensors.single) search.consider({one_of(tensor)});
  search.end_singles();
  for (const SizedTensor& tensor : tensors.of_all_layers)
    if (tensor.count > 1) search.consider({tensor});
  // Sums tell something only where no tensor is that big itself.
  const std::vector<SizedTensor> sizes = distinct_sizes(tensors.single);
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

std::vector<SizeElsewhere> find_size_elsewhere(Bytes size, double tolerance, const ModelSource& source,
                                               const RunOptions& given, std::size_t most) {
  std::vector<const Variation*> open;
  for (const Variation& variation : variations())
    if (!variation.is_given(given)) open.push_back(&variation);
  std::vector<SizeElsewhere> found;
  const auto try_it = [&](const Given& chosen) {
    if (found.size() >= most) return;
    Diagnostics diagnostics;
    const RunOptions options = given.overridden_by(read_run_options(chosen, diagnostics));
    const Count longest = source.model->info.max_seq;
    if (longest > 0 && options.seq && *options.seq > longest) return;
    StepPlan plan;
    try {
      plan = resolve(options, source, nullptr).plan;
    } catch (const Error&) {
      return;  // what is given does not allow this
    }
    for (const SizedTensor& tensor : tensors_of(*source.model, plan).single) {
      if (tensor.shape.empty() || std::abs(tensor.bytes.as_double() / size.as_double() - 1) > tolerance) continue;
      std::string words;
      for (const GivenOption& option : chosen)
        words += (words.empty() ? "--" : " --") + option.name + " " + option.value;
      found.push_back({words, one_of(tensor)});
      return;
    }
  };
  constexpr int most_changes = 3;
  Given chosen;
  for (int changes = 1; changes <= most_changes && found.empty(); ++changes) choose(0, changes, open, chosen, try_it);
  return found;
}

}  // namespace llmcalc
