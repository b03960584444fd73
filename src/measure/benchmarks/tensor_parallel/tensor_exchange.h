// The cost of communication in tensor parallelism, as metrics of a cell.
#pragma once

#include <optional>
#include <vector>

#include "measure/benchmarks/train/exchange_timing.h"
#include "measure/grid/benchmark.h"

namespace assay {

/// The cost of communication in one pass. The times are equal on all ranks; the numbers are 0 on
/// ranks that do not take part.
struct TensorExchange {
  ExchangeTimes times;
  std::uint64_t calls = 0;  ///< collectives in one pass
  std::uint64_t bytes = 0;  ///< sum over these collectives, each counted by a rank's larger buffer
  std::uint64_t bytes_of_one = 0;  ///< bytes of the first collective; its time alone is `times.one`
};

/// Measures the cost. The whole team calls it together; ranks that do not take part pass no `work`.
/// `replayed`: passes are captured once and replayed as graphs. Error: from queueing, here or on
/// another rank; failed if a rank is lost.
Result<TensorExchange> measure_tensor_exchange(const std::optional<ExchangingWork>& work,
                                               Device& device, Stream& stream, ModelRanks ranks,
                                               bool replayed);

/// Adds the metrics from time_with_exchange to rank_skew, which docs/inference.md explains.
void add_metrics(std::vector<Metric>& metrics, const TensorExchange& exchange);

}  // namespace assay
