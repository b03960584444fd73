// Says how large a server's cache and its limits are on a device.
#pragma once

#include <optional>

#include "serving/engine/engine.h"

namespace assay::engine {

/// The shares of a device's memory that a server takes unless asked otherwise.
inline constexpr double utilization_of_gpu = 0.9, utilization_of_cpus = 0.5;

/// The limits of a server on a GPU, or on a CPU or an emulator (not `large`).
struct UsualLimits {
  std::int64_t max_sequences = 0;       ///< at once
  std::int64_t max_batched_tokens = 0;  ///< in a pass
  std::int64_t max_length = 0;          ///< tokens of a prompt and its reply
};
UsualLimits usual_limits(bool large);

/// What the user asked for; empty: chosen by the device.
struct AskedLimits {
  std::optional<std::int64_t> max_sequences = {}, max_batched_tokens = {}, max_length = {};
  std::optional<std::int64_t> blocks = {};  ///< of the cache, of block_tokens tokens each
  std::optional<double> utilization = {};   ///< share of the device's memory that all may take
};

/// Completes `settings`, whose model, precision and seed are set. What is not asked for follows
/// usual_limits(), the tokens of a deterministic executor's pass those of a CPU; a GPU gets the
/// blocks that its memory has room for, a CPU, whose memory others need too, no more than all
/// sequences at once take. A length that was not asked for is lowered to the model's positions and
/// to what the cache holds, and a number of sequences to the tokens of a pass. Error: exhausted,
/// with the bytes, or if the cache has no room for the length asked for; usage, if the limits do
/// not fit together or the length is beyond the model's positions; of the device; failed, naming a
/// rank that is lost. Ranks that share the model, which call it together, get the
/// least that any of them has room for.
Status plan_cache(Device& device, const AskedLimits& asked, ExecutorSettings& settings);

}  // namespace assay::engine
