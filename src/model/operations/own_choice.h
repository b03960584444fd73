// Which of several kernels of own attention a device should use: those whose result is that of the
// first, and of them the fastest.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compute/device/device.h"
#include "core/data_type.h"
#include "core/result.h"
#include "model/operations/attention.h"

namespace assay {

/// Whether kernels of groups of waves may be faster than those of waves: only Hopper's matrix units
/// read tiles themselves.
bool gains_by_groups(const DeviceFacts& facts);

/// Random queries, keys, values and gradients of results, and what attention makes of them.
struct AttentionTrial {
  AttentionShape shape;
  Buffer qkv, y, dy, d_qkv, log_sum, scratch;

  AttentionMemory memory() const { return {nullptr, log_sum.data(), scratch.data()}; }
};

/// What a choice is kept for: a name, and the kernels' sources.
struct OwnChoice {
  const char* pass;
  std::vector<const char*> sources;
};

/// Queues candidate `i`.
using EnqueueTrial = std::function<Status(Stream&, const AttentionTrial&, std::size_t i)>;

/// The index of the best of `count` candidates, kept in the user's cache. Results are in the buffer
/// that `result` names; those that differ from the first candidate's by more than rounding are left
/// out, and so are candidates that do not run.
Result<std::size_t> best_of_own(Device& device, DataType type, std::int64_t head_width,
                                const OwnChoice& choice, std::size_t count,
                                const std::function<std::string(std::size_t)>& describe,
                                const EnqueueTrial& enqueue,
                                const std::function<const Buffer*(const AttentionTrial&)>& result);

}  // namespace assay
