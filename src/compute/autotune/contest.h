// Finding the fastest of several ways to do the same work, on the device itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"

namespace assay {

/// Queues the work once, one way.
using Contender = std::function<Status(Stream&)>;

struct ContestLimits {
  int screening_rounds = 3;
  double screening_margin = 1.10;  ///< finalists are within this factor of the best so far
  /// The same where all contenders may be finalists: nobody needs room, and on a busy machine a few
  /// single runs say little.
  double wide_margin = 3;
  std::size_t most_finalists = 5;
  int final_rounds = 5;          ///< on a CPU up to five times as many, as much shorter
  double final_seconds = 0.1;    ///< work queued for one final measurement, at least one run
  double time_box_seconds = 20;  ///< then rounds end early: screening 1, final 3 at least
  /// Share by which another contender must be faster than the first to win; then the first, if it
  /// runs, is a finalist. 0: there is no such preference.
  double least_gain = 0;
  std::function<bool()> stop_requested = {};  ///< asked between runs, if there is one
};

struct ContestResult {
  std::size_t fastest = 0;  ///< index into the contenders
  double seconds = 0;       ///< its median
  std::size_t tried = 0;    ///< contenders that ran at all
};

/// Each contender runs once untimed, on a CPU all of them for a tenth of a second, then once per
/// screening round; those near the best meet again in rounds of longer, back-to-back runs, each
/// timed after as long a run untimed, so that each meets the clock its own power draw leaves it;
/// the lowest median wins, on a CPU the lowest time. Rounds alternate direction, so that a drifting
/// clock meets all alike. Error: the last contender's, if none runs; interrupted, if it was asked
/// to stop.
Result<ContestResult> find_fastest(Device& device, Stream& stream,
                                   const std::vector<Contender>& contenders,
                                   const ContestLimits& limits = {});

}  // namespace assay
