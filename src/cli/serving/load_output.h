// The output of a point of `assay load`: its record, with telemetry of this machine's accelerators
// if the servers run here, its progress, and its text at the end.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/serving/load_request.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "machine/telemetry/recorder.h"
#include "results/record/cost.h"
#include "results/record/record.h"
#include "serving/load.h"

namespace assay::cli {

/// The record of one point, whose time is now; the caller sets `run` and `fingerprint`.
Record load_record(const LoadRequest& request, const LoadReport& report);

/// Returns the recorder for --telemetry; by default there is one if all `urls` are loopback
/// addresses of this machine. Null: off. Error: usage.
Result<std::unique_ptr<TelemetryRecorder>> record_beside_load(const Arguments& arguments,
                                                              const std::vector<Url>& urls);

/// Adds to a load's record the telemetry of its duration, without the warm-up, and the
/// accelerators' energy per output token if it is known for all of them.
void add_telemetry(Record& record, TelemetryRecorder& recorder, const LoadReport& report);

/// Returns "  gpu0: 1.755 GHz, 512 W, at most 66 °C, clock capped 3% of the time", a line for each
/// accelerator, and the energy per output token if it is known; empty if there is none.
std::string telemetry_text(const Record& record);

/// Shows "[1/3] 16 req/s 412/1000 0:21 left 9.9 req/s 2141 tokens/s TTFT 120 ms 32 in flight". The
/// line is rewritten in place if standard error is a terminal.
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

/// Names a load point: "16 req/s", "16 req/s, at most 32 in flight", "32 in flight", or "all at
/// once".
std::string text_of(const LoadPoint& point);

/// One point in full: what was sent, latencies with their intervals, and the verdict on the run.
std::string report_text(const LoadReport& report, std::size_t width, const Style& style);

/// The means over several passes over one point, with intervals from their spread.
std::string passes_text(const Record& record, std::size_t passes);

/// "  cost: $0.412 per million output tokens"; empty without a price.
std::string cost_text(const Record& record, const std::optional<Price>& price);

/// A table with a row for each point; with a price, it has a column of costs.
std::string sweep_text(std::span<const ServingResult> results, const std::optional<Price>& price,
                       std::size_t width, const Style& style);

}  // namespace assay::cli
