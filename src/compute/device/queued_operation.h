// What a piece of queued work computes and moves, for recorders of timelines. A library's kernels
// and several kernels that belong together count as one operation.
#pragma once

#include <cstddef>
#include <string>

#include "compute/device/device.h"
#include "core/data_type.h"

namespace assay {

struct QueuedOperation {
  std::string name;                    ///< "gemm m=64 n=64 k=64 bf16*bf16->bf16 TN"
  double flops = 0;                    ///< floating-point operations that it computes
  double bytes = 0;                    ///< device memory that it must at least read or write
  DataType math = DataType::f32;       ///< the type whose peak rate bounds `flops`
  std::string shapes, types;           ///< of a matrix product, as PyTorch's profiler writes them
  std::string collective;              ///< "all_reduce"; empty: it is none
  std::size_t sent = 0, received = 0;  ///< elements of a collective on this rank
  int ranks = 0;                       ///< that take part in a collective
  double bus_bytes = 0;                ///< a collective's bus bandwidth is this over its time
};

/// Calls `queue()`, which queues the operation that `describe()` returns. If no recorder notes what
/// is queued, `describe()` is not called. Error: queue()'s, or the recorder's.
template <typename Describe, typename Queue>
Status queue_operation(Stream& stream, const Describe& describe, const Queue& queue) {
  if (!stream.is_recorded()) return queue();
  TRY(stream.begin_operation(describe()));
  Status queued = queue();
  TRY(stream.end_operation());
  return queued;
}

}  // namespace assay
