// The JSON of an estimate. What does not apply is absent: a size of zero bytes means that there is no such thing.
#include "core/rules.hpp"
#include "report/estimate.hpp"
#include "report/params.hpp"

namespace llmcalc::report {

namespace {

template <class T>
void set_if_any(Json& json, const char* key, T amount) {
  if (amount > T{}) json.set(key, amount);
}

Json model_json(const Report& report) {
  Json json = label_json({report.model.name, report.model.source, report.model.architecture, report.model.status});
  if (!report.model.assumed.empty()) json.set("assumed", report.model.assumed);
  return json;
}

Json device_json(const Report::DeviceUsed& device) {
  Json json = Json::object();
  json.set("name", device.name).set("source", device.source).set("count", device.count);
  if (device.peak > FlopsPerSecond(0))
    json.set("peak_dtype", device.peak_key).set("peak_flops_per_second", device.peak);
  return json;
}

void set_if_said(Json& json, const char* key, const std::string& text) {
  if (!text.empty()) json.set(key, text);
}

Json run_json(const Report& report) {
  const ResolvedRun& run = report.run;
  Json json = Json::object();
  json.set("mode", run.mode).set("batch", run.batch).set("seq", run.seq);
  if (!run.lengths.empty()) json.set("lengths", run.lengths);
  json.set("accumulate", run.accumulate).set("tokens", run.tokens).set("gpus", run.gpus);
  set_if_said(json, "precision", run.precision);
  set_if_said(json, "optimizer", run.optimizer);
  set_if_said(json, "optimizer_step", run.optimizer_step);
  set_if_said(json, "implementation", run.implementation);
  set_if_said(json, "attention", run.attention);
  set_if_said(json, "attention_why", run.attention_why);
  set_if_said(json, "recompute", run.recompute);
  set_if_said(json, "loss", run.loss);
  json.set("dropout", run.dropout)
      .set("lora", run.lora)
      .set("dora", run.dora)
      .set("qlora", run.qlora)
      .set("freeze", run.freeze);
  json.set("kv_dtype", run.kv_dtype);
  if (run.mtp) json.set("mtp", true);
  if (run.expandable_segments) json.set("expandable_segments", true);
  set_if_said(json, "attention_flops", run.attention_flops);
  json.set("mfu", run.mfu).set("price", run.price).set("as", run.as_family);
  set_if_said(json, "implementation_version", report.model.implementation_version);
  return json.set("assumed", run.assumed);
}

Json parameters_json(const Report& report) {
  if (!report.size_only) return counts_json(report.parameters);
  // The size alone does not tell what the parameters are for.
  return Json::object().set("total", report.parameters.total).set("active", report.parameters.active);
}

Json flops_json(const Report& report) {
  Json json = Json::object();
  if (const std::optional<FlopsReport>& flops = report.flops) {
    json.set("convention", flops->convention).set("forward", flops->forward);
    set_if_any(json, "backward", flops->backward);
    set_if_any(json, "recompute", flops->recompute);
    json.set("model", flops->model).set("hardware", flops->hardware);
    set_if_any(json, "model_full", flops->model_full);
    set_if_any(json, "model_causal", flops->model_causal);
    json.set("forward_per_token", flops->forward_per_token).set("model_per_token", flops->model_per_token);
    set_if_any(json, "elementwise", flops->elementwise);
    Json operations = Json::array();
    for (const OperationFlops& operation : flops->by_operation) {
      Json one = Json::object().set("operation", operation.operation).set("count", operation.count);
      one.set("forward", operation.forward);
      set_if_any(one, "backward", operation.backward);
      operations.push(std::move(one));
    }
    json.set("by_operation", std::move(operations));
  }
  Json rules = Json::object().set("6nd_per_token", report.rule_6nd_per_token);
  if (report.mixture_of_experts)
    rules.set("6nd_per_token_with_all_experts", checked::multiply<Count>(6, report.parameters.total));
  return json.set("rules", std::move(rules));
}

Json phases_json(const std::vector<PhaseReport>& phases) {
  Json json = Json::array();
  for (const PhaseReport& phase : phases) {
    Json parts = Json::object();
    for (const auto& [part, bytes] : phase.parts) parts.set(name_of(part), bytes);
    json.push(Json::object().set("phase", name_of(phase.phase)).set("peak", phase.peak).set("parts", std::move(parts)));
  }
  return json;
}

Json memory_json(const Report& report) {
  const MemoryReport& memory = report.memory;
  Json json = Json::object().set("parameters", memory.parameters);
  set_if_any(json, "gradients", memory.gradients);
  set_if_any(json, "master_weights", memory.master_weights);
  set_if_any(json, "optimizer_states", memory.optimizer_states);
  set_if_any(json, "buffers", memory.buffers);
  set_if_any(json, "inputs", memory.inputs);
  json.set("saved_for_backward", memory.saved_for_backward).set("autocast_weights", memory.autocast_weights);
  json.set("autocast_cache", memory.autocast_cache).set("kv_cache", memory.kv_cache);
  json.set("sequence_states", memory.sequence_states);
  if (!memory.phases.empty()) json.set("phases", phases_json(memory.phases));
  set_if_any(json, "peak", memory.peak);
  if (memory.peak_phase) json.set("peak_phase", name_of(*memory.peak_phase));
  json.set("reserved", memory.reserved).set("framework", memory.framework).set("device_total", memory.device_total);
  set_if_said(json, "framework_note", memory.framework_note);
  Json rules = Json::object().set("16n", rule_16n(report.parameters.total));
  rules.set("bytes_per_parameter", report.rule_bytes_per_parameter);
  return json.set("rules", std::move(rules));
}

const char* name_of_verdict(Verdict verdict) {
  return verdict == Verdict::fits ? "fits" : verdict == Verdict::tight ? "tight" : "no";
}

Json fit_json(const FitReport& fit) {
  Json json = Json::object().set("capacity", fit.capacity).set("verdict", name_of_verdict(fit.verdict));
  json.set("headroom", fit.headroom).set("max_batch", fit.max_batch).set("max_seq", fit.max_seq);
  set_if_said(json, "note", fit.note);
  if (fit.advice.empty()) return json;
  Json advice = Json::array();
  for (const Advice& change : fit.advice) {
    Json one = Json::object().set("change", change.change).set("saves", change.saves);
    set_if_said(one, "costs", change.costs);
    advice.push(one.set("verdict", name_of_verdict(change.verdict)));
  }
  return json.set("advice", std::move(advice));
}

Json time_json(const TimeReport& time) {
  Json json = Json::object();
  json.set("step", time.step);
  set_if_any(json, "tokens_per_second", time.tokens_per_second);
  set_if_any(json, "mfu", time.mfu);
  set_if_any(json, "hfu", time.hfu);
  json.set("lower_bound_step", time.lower_bound_step);
  if (time.band) json.set("band", Json::array().push(time.band->first).push(time.band->second));
  json.set("steps", time.steps).set("training", time.training).set("basis", time.basis);
  if (time.parts.empty()) return json;
  Json parts = Json::object();
  for (const auto& [name, seconds] : time.parts) parts.set(name, seconds);
  return json.set("parts", std::move(parts)).set("kernels", time.kernels).set("rates", time.rates);
}

Json input_json(const InputReport& input) {
  return Json::object()
      .set("bytes_per_step", input.per_step)
      .set("pinned", input.pinned)
      .set("pageable", input.pageable)
      .set("hidden", input.hidden);
}

Json checkpoint_json(const CheckpointReport& checkpoint) {
  return Json::object()
      .set("bytes", checkpoint.bytes)
      .set("write", checkpoint.write)
      .set("bytes_per_second", checkpoint.rate);
}

}  // namespace

Json estimate_json(const Report& report) {
  Json json = Json::object().set("schema", "llmcalc.estimate/1").set("model", model_json(report));
  if (report.device) json.set("device", device_json(*report.device));
  json.set("run", run_json(report)).set("parameters", parameters_json(report)).set("flops", flops_json(report));
  json.set("memory", memory_json(report));
  if (report.fit) json.set("fit", fit_json(*report.fit));
  if (report.time) json.set("time", time_json(*report.time));
  if (report.cost) {
    json.set("cost", Json::object()
                         .set("device_hours", report.cost->device_hours)
                         .set("usd", report.cost->usd)
                         .set("energy_kwh", report.cost->energy_kwh));
  }
  if (report.input) json.set("input", input_json(*report.input));
  if (report.checkpoint) json.set("checkpoint", checkpoint_json(*report.checkpoint));
  return json.set("scope", report.scope);
}

}  // namespace llmcalc::report
