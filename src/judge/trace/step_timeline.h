// The timeline of one step as a page draws it: lanes of host threads and of each GPU's streams,
// collectives and copies. Neighbours that are too short to be seen are drawn as one block, so that
// a step of a million events takes no more room than one of a thousand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "judge/trace/shown_step.h"

namespace assay {

/// An event, or several neighbours that are drawn as one.
struct TimelineBlock {
  TimeRange range;            ///< ns since the step began, cut at its ends
  std::int64_t busy = 0;      ///< ns of the range in which one of the events ran
  std::size_t count = 1;      ///< events
  std::string_view name;      ///< of the longest; it points into the trace
  std::string_view category;  ///< of the longest: a kernel's, "copy", "operation", "call", "range"
  std::int64_t longest = 0;   ///< ns that the longest takes, beyond the step's ends too
};

/// What ran one after another. A lane whose events overlap or are nested has several rows.
struct TimelineRow {
  std::string group;                  ///< "rank 0, GPU 1", "rank 0, host"
  std::string lane;                   ///< "stream 7", "collectives", "copies", "thread 812"
  std::size_t row = 0;                ///< of this lane
  std::vector<TimelineBlock> blocks;  ///< in time order
};

struct StepTimeline {
  std::int64_t length = 0;  ///< ns
  std::vector<TimelineRow> rows;
  std::size_t events = 0;   ///< in the blocks
  std::int64_t merged = 0;  ///< neighbours within this many ns are one block; 0: none are
  bool one_clock = true;    ///< false: each trace begins at its own first work
  std::size_t drawn = 0;    ///< GPUs, or else hosts: the first of the step's
  /// Events nested too deep, or in lanes beyond the busiest of a GPU or host.
  std::size_t left_out = 0;
};

/// Returns at most about `most_blocks` blocks, and what a page has room for: the first 8 GPUs, the
/// busiest 6 streams of each and 3 threads of each host, and 6 rows of a lane.
StepTimeline step_timeline(const ShownStep& step, std::size_t most_blocks);

/// Returns how pages name the GPU: "rank 0, GPU 1", or "GPU 1" if the trace names no rank and is
/// the only one.
std::string gpu_label(const ShownStep& step, const StepOfGpu& gpu);

}  // namespace assay
