#include "serving/simulator/simulated_engine.h"

#include <cmath>

#include "serving/engine/pass_sizes.h"

namespace assay::simulator {
namespace {

StepWork work_of(const ScheduledStep& step) {
  StepWork work;
  for (const StepPart& part : step.parts) {
    const auto before = static_cast<double>(part.begin), added = static_cast<double>(part.tokens);
    work.new_tokens += added;
    work.kv_tokens += before + added;
    work.sequences += part.yields;
    if (!part.decodes) work.prefill_pairs += chunk_pairs(added, before);
  }
  return work;
}

}  // namespace

double Engine::seconds_of(StepWork work) const {
  if (!settings_.measured) return step_seconds(settings_.model, settings_.hardware, work);
  // A server on a device pads its passes like this.
  work.new_tokens =
      static_cast<double>(engine::pass_size(static_cast<std::int64_t>(work.new_tokens)));
  return settings_.measured->seconds(work) + settings_.hardware.launch_seconds;
}

Step Engine::step() {
  const ScheduledStep& scheduled = scheduler_.schedule();
  Step step;
  step.seconds = seconds_of(work_of(scheduled));
  if (settings_.jitter > 0) {
    step.seconds *=
        std::exp(settings_.jitter * random_.normal() - settings_.jitter * settings_.jitter / 2);
  }
  step.started = scheduled.started;
  step.preempted = scheduled.preempted;
  step.tokens = scheduler_.finish();
  return step;
}

}  // namespace assay::simulator
