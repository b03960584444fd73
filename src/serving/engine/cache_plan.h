// How large a server's cache and its limits are on a device.
#pragma once

#include <optional>

#include "serving/engine/engine.h"

namespace assay::engine {

/// The shares of a device's memory that a server takes unless asked otherwise.
inline constexpr double utilization_of_gpu = 0.9, utilization_of_cpus = 0.5;

/// What the user asked for; empty: chosen by the device.
struct AskedLimits {
  std::optional<std::int64_t> max_sequences = {}, max_batched_tokens = {}, max_length = {},
                              blocks = {};
  std::optional<double> utilization = {};  ///< share of the device's memory that all may take
};

/// Completes `settings`, whose model, precision and seed are set. Without limits, a GPU gets 256
/// sequences, 2048 tokens of a pass and the blocks that its memory has room for; on a CPU, whose
/// memory others need too, 256 tokens of a pass and blocks for all sequences at once, if half of
/// the memory has room for them. Error: exhausted, with the bytes; usage, if the limits do not fit
/// together.
Status plan_cache(Device& device, const AskedLimits& asked, ExecutorSettings& settings);

}  // namespace assay::engine
