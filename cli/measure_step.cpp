#include "cli/measure_step.hpp"

#include "cli/model_argument.hpp"
#include "cli/run_options.hpp"
#include "core/check.hpp"
#include "core/resolve.hpp"
#include "core/step_operations.hpp"

namespace llmcalc::cli {

namespace {

// A stream larger than this is run in part: it has no shape that would change with its length.
constexpr Count largest_stream = 64 << 20;  // bytes

// A device with a peak for every number format the backend computes in: enough for the run's defaults to be chosen.
Device stand_in(Backend& backend, const DeviceInfo& info) {
  Device device;
  device.name = info.name;
  device.compute_capability = info.compute_capability;
  for (DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    const Workload probe = matmul_workload(dtype, 64, 64, 64);
    if (backend.supports(probe).empty()) device.peak[dtype_key(probe)] = FlopsPerSecond(1);
  }
  if (info.is_gpu) device.peak["tf32"] = FlopsPerSecond(1);
  return device;
}

// How long the rows are that a softmax of this launch works on.
Count row_of(const Launch& launch, const Model& model, const Job& job) {
  if (launch.op == Op::softmax) return job.seq;
  if (launch.op == Op::log_softmax) return model.info.vocabulary;
  return 0;
}

}  // namespace

StepToMeasure step_to_measure(const Arguments& arguments, Backend& backend, const DeviceInfo& info, Output& output) {
  StepToMeasure result;
  if (!arguments.has("model")) {
    refuse_run_options(arguments, "llmcalc measure --model MODEL");
    return result;
  }
  Arguments with_model = arguments;
  with_model.values["MODEL"] = arguments.all("model");
  const JobArguments job = job_from(with_model, output);
  if (!job.model.model)
    throw Error(Exit::bad_input, job.model.name + " is known only by its size, and has no operations to measure");
  const Device device = stand_in(backend, info);
  const Resolved resolved = resolve(job.options, job.model, &device);
  const TracedStep step = trace_step(*job.model.model, resolved.plan);
  for (const StepOperation& operation : distinct_operations(step.trace, resolved.plan.accumulate)) {
    const Launch& launch = operation.launch;
    if (launch.read + launch.written == Bytes(0)) continue;
    const bool stream = !is_matrix_product(launch.op);
    const Count row = row_of(launch, *job.model.model, resolved.plan.job);
    const Count portion = stream && row == 0 ? ceil_div((launch.read + launch.written).value(), largest_stream) : 1;
    result.operations.push_back(step_workload(launch, operation.where, operation.times, row, portion));
    if (launch.dtype == DType::float32)
      result.operations.back().tf32 = resolved.plan.precision->tf32 && is_matrix_product(launch.op);
  }
  result.job = job_in_words(job.model.name, resolved.run);
  return result;
}

}  // namespace llmcalc::cli
