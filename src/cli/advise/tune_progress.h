// The progress of a tuning: one line that is rewritten, or a line for each step.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "cli/progress.h"
#include "cli/terminal.h"

namespace assay::cli {

class TuneProgress {
 public:
  /// `total`: the number of steps.
  TuneProgress(Terminal& terminal, std::size_t total) : terminal_(terminal) {
    progress_.total = total;
  }

  /// Shows the step `name` and what is done for it now, at most ten times a second.
  void doing(const std::string& name, std::string_view what);
  /// Skips a step that an earlier process did, so that it does not count in the time left.
  void known() { --progress_.total; }
  /// Counts a step that took `seconds`. Its result is only shown if standard error is no terminal.
  void done(const std::string& name, double seconds, std::string_view result);

 private:
  Terminal& terminal_;
  Progress progress_;  // counts only steps that the journal did not have
  std::chrono::steady_clock::time_point shown_{};
};

}  // namespace assay::cli
