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
  double flops = 0, bytes = 0;         ///< that it computes, and reads or writes at least
  DataType math = DataType::f32;       ///< the type whose peak rate bounds `flops`
  std::string shapes, types;           ///< of a product, as PyTorch's profiler writes them
  std::string collective;              ///< "all_reduce"; empty: it is none
  std::size_t sent = 0, received = 0;  ///< elements of a collective on this rank
  int ranks = 0;                       ///< of a collective
  double bus_bytes = 0;                ///< of a collective: its bus bandwidth is this over its time
};

/// Calls `queue()`, whose work is the operation that `describe()` returns.
template <typename Describe, typename Queue>
Status queue_operation(Stream& stream, const Describe& describe, const Queue& queue) {
  if (!stream.is_recorded()) return queue();
  TRY(stream.begin_operation(describe()));
  Status queued = queue();
  TRY(stream.end_operation());
  return queued;
}

}  // namespace assay
