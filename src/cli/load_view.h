// The output of `assay load`: the progress of a point, and its result.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>

#include "cli/terminal.h"
#include "serving/load.h"

namespace assay::cli {

/// "[1/3] 16 req/s 412/1000 0:21 left 9.9 req/s 2141 tokens/s TTFT 120 ms 32 in flight", rewritten
/// in place if standard error is a terminal.
class LoadProgress {
 public:
  LoadProgress(Terminal& terminal, std::string label)
      : terminal_(terminal), label_(std::move(label)) {}
  ~LoadProgress();
  void show(const LoadState& state);

 private:
  Terminal& terminal_;
  std::string label_;
  std::chrono::steady_clock::time_point shown_;
  LoadState before_;
  bool drawn_ = false;
};

/// "16 req/s", "32 in flight" or "inf" for one point.
std::string text_of(const LoadPoint& point);

/// One point in full: what was sent, latencies with their intervals, and the verdict on the run.
std::string report_text(const LoadReport& report, std::size_t width, const Style& style);

/// A table with a row for each point.
std::string sweep_text(std::span<const ServingResult> results, std::size_t width,
                       const Style& style);

}  // namespace assay::cli
