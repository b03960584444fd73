// Finds work that a training's backward pass does again instead of keeping its results.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "judge/trace/trace_index.h"

namespace assay {

/// Returns the ns of kernels of the GPU that ran in the forward pass and, with the same name, again
/// in the backward pass. Only assay's own traces name the passes ("forward attention"), and only
/// those of trainings with a setting for recomputation; 0 for others. `device` and `events` are as
/// in TraceIndex::devices().
std::int64_t recomputed_time(const TraceIndex& index, const std::string& device,
                             const std::vector<const TraceEvent*>& events);

}  // namespace assay
