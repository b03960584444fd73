#include "serving/server/step_log.h"

#include <iterator>

#include "core/fmt_compiled.h"

namespace assay::server {

LoggedStep step_of(const ScheduledStep& step) {
  LoggedStep logged;
  logged.sequences = step.parts.size();
  for (const StepPart& part : step.parts) {
    (part.decodes ? logged.output_tokens : logged.prompt_tokens) += part.tokens;
  }
  return logged;
}

void StepLog::add(const LoggedStep& step) {
  const MutexLock lock(mutex_);
  if (steps_.size() < most_steps) {
    steps_.push_back(step);
  } else {
    steps_[count_ % most_steps] = step;
  }
  ++count_;
}

std::string StepLog::json() const {
  std::vector<LoggedStep> steps;
  std::uint64_t count = 0;
  {
    const MutexLock lock(mutex_);
    steps = steps_;
    count = count_;
  }
  std::string text = fmt::format(R"({{"unit":"ns","dropped":{},"fields":["{}"],"steps":[)",
                                 count - steps.size(), fmt::join(step_fields, R"(",")"));
  const std::size_t oldest = count > steps.size() ? count % steps.size() : 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const LoggedStep& step = steps[(oldest + i) % steps.size()];
    fmt::format_to(std::back_inserter(text), "{}[{},{},{},{},{},{},{},{}]", i == 0 ? "" : ",\n",
                   step.begin, step.launched, step.computed, step.end, step.prompt_tokens,
                   step.output_tokens, step.sequences, step.waiting);
  }
  return text + "]}\n";
}

}  // namespace assay::server
