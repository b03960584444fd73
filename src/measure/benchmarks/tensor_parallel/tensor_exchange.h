// What it costs the ranks that share a model to tell each other what each has computed, as results
// of a cell.
#pragma once

#include <optional>
#include <vector>

#include "measure/benchmarks/train/exchange_timing.h"
#include "measure/grid/benchmark.h"

namespace assay {

/// The same on all ranks.
struct TensorExchange {
  ExchangeTimes times;
  std::uint64_t calls = 0;         ///< of a pass
  std::uint64_t bytes = 0;         ///< of all of them, the larger of a rank's two buffers
  std::uint64_t bytes_of_one = 0;  ///< of the first one, whose time by itself is `times.one`
};

/// The whole team calls it together, a rank that takes no part without work. Error: of queueing,
/// here or on another rank; failed, if a rank is lost.
Result<TensorExchange> measure_tensor_exchange(const std::optional<ExchangingWork>& work,
                                               Device& device, Stream& stream, ModelRanks ranks,
                                               bool replayed);

void add_metrics(std::vector<Metric>& metrics, const TensorExchange& exchange);

}  // namespace assay
