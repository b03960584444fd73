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

/// Returns whether kernels of warpgroups may be faster than those of waves: only Hopper's matrix
/// units read tiles themselves.
bool gains_by_groups(const DeviceFacts& facts);

/// Random queries, keys, values and gradients of results, and what attention makes of them.
struct AttentionTrial {
  AttentionShape shape;
  Buffer qkv, y, dy, d_qkv, log_sum, scratch;

  AttentionMemory memory() const { return {nullptr, log_sum.data(), scratch.data()}; }
};

/// What can be chosen for a pass.
struct OwnCandidates {
  const char* pass;                  ///< "forward": with the sources, what a choice is kept for
  std::vector<const char*> sources;  ///< names of kernel files
  std::size_t count = 0;
  std::function<std::string(std::size_t)> describe;  ///< differs for each
  /// Queues a candidate.
  std::function<Status(Stream&, const AttentionTrial&, std::size_t)> enqueue;
  /// Which buffer it writes.
  std::function<const Buffer*(const AttentionTrial&)> result;
  std::string left_out = {};  ///< what could not be made a candidate, as leave_out() writes it
};

/// Candidates that were not compared as to their time, and why: "NAME: REASON; NAME: REASON".
void leave_out(std::string& left_out, const std::string& candidate, const std::string& reason);

struct OwnChosen {
  std::size_t index = 0;
  std::string left_out;  ///< as leave_out() writes it; empty: all were compared
};

/// The best of the candidates, kept in the user's cache for this compiler. Left out are those that
/// cannot be queued or waited for and those whose result differs from the first one's by more than
/// rounding. Where nothing can be measured, for instance because memory is short, it is the first,
/// and that is not kept. A kernel that faults ends what a CUDA device does for the process, the
/// first one with it: then ASSAY_OWN_ATTENTION must name the kind that runs.
OwnChosen best_of_own(Device& device, DataType type, std::int64_t head_width,
                      const OwnCandidates& candidates);

}  // namespace assay
