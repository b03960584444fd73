// The last steps of a server's engine with their times, as its page /steps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "serving/server/scheduler.h"

namespace assay::server {

/// One step: what it computed, and when. Times are in ns since 1970.
struct LoggedStep {
  std::int64_t begin = 0;     ///< its scheduling began
  std::int64_t launched = 0;  ///< the device began
  std::int64_t computed = 0;  ///< its tokens were there
  std::int64_t end = 0;       ///< they had been handed out
  /// The tokens of prompts that it computed, those after the first of each reply, and the number of
  /// sequences.
  std::uint64_t prompt_tokens = 0, output_tokens = 0, sequences = 0;
  std::uint64_t waiting = 0;  ///< requests in the queue
};

/// Names of LoggedStep's members, in the order of a step's numbers on the page.
constexpr const char* step_fields[] = {"begin",         "launched",      "computed",  "end",
                                       "prompt_tokens", "output_tokens", "sequences", "waiting"};

/// Sets the numbers of tokens and sequences.
LoggedStep step_of(const ScheduledStep& step);

/// Keeps the last `most_steps`; any thread may use it.
class StepLog {
 public:
  static constexpr std::size_t most_steps = 100'000;

  void add(const LoggedStep& step);
  /// {"unit": "ns", "dropped": 0, "fields": [...], "steps": [[...], ...]}, oldest step first.
  std::string json() const;

 private:
  mutable Mutex mutex_;
  std::vector<LoggedStep> steps_ GUARDED_BY(mutex_);
  std::uint64_t count_ GUARDED_BY(mutex_) =
      0;  ///< of all steps; the oldest is at count_ modulo most_steps
};

}  // namespace assay::server
