// What a simulated server counts, and its page /metrics.
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
  /// By how much later than due a token was given to the system. What a client adds to it is the
  /// client's own.
  LagRecord write_lag;
  std::array<std::uint64_t, fault_count> faults{};
};

/// In Prometheus' text format, with vLLM's names and the simulator's own beside them.
std::string metrics_page(const ServerMetrics& metrics, std::string_view model);

}  // namespace assay::simulator
