// The counters of a simulated server, and its /metrics page.
#pragma once

#include <string>

#include "serving/simulator/engine.h"
#include "serving/simulator/faults.h"
#include "serving/simulator/histogram.h"

namespace assay::simulator {

/// Seconds by the server's own clock, tokens as they were written.
struct ServerMetrics {
  ServerMetrics();

  std::size_t running = 0, waiting = 0;
  double cache_usage = 0;
  EngineCounters engine;
  std::uint64_t finished_length = 0, finished_stop = 0;
  Histogram ttft, itl, e2e, queue, prefill;
  /// How late each token was handed to the system. Any delay a client sees beyond this is the
  /// client's own.
  LagRecord write_lag;
  std::array<std::uint64_t, fault_count> faults{};
};

/// The metrics in Prometheus' text format: vLLM's names, and some of the simulator's own.
std::string metrics_page(const ServerMetrics& metrics, std::string_view model);

}  // namespace assay::simulator
