// What the operations of one step cost, on all of its GPUs together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "judge/trace/shown_step.h"

namespace assay {

/// All kernels, copies or memsets of one name.
struct TracedOperation {
  std::string name;
  std::string category;  ///< as kernel_category() says, or "copy"
  std::size_t count = 0;
  std::int64_t median = 0, total = 0;  ///< ns
  double share = 0;                    ///< of the step's time on its GPUs
  std::optional<double> flop_rate;     ///< FLOP/s; empty: the trace does not say what is computed
  std::optional<double> byte_rate;  ///< bytes/s of copies, bus bandwidth of collectives; or empty
};

/// Longest total first; equal ones by name.
std::vector<TracedOperation> traced_operations(const ShownStep& step);

}  // namespace assay
