// Finds the fastest of several implementations of the same work by running them on the device.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"

namespace assay {

/// Queues the work once, with one implementation.
using Contender = std::function<Status(Stream&)>;

struct ContestLimits {
  int screening_rounds = 3;        ///< each runs every contender once
  double screening_margin = 1.10;  ///< finalists are within this factor of the best so far
  /// The margin used instead where all contenders can be finalists: nobody has to make room for
  /// others, and on a busy machine a few single runs prove little.
  double wide_margin = 3;
  std::size_t most_finalists = 5;
  int final_rounds = 5;          ///< up to five times as many on a CPU, each that much shorter
  double final_seconds = 0.1;    ///< work queued for one final measurement; 1 to 1000 runs, fewer
                                 ///< where they would exceed the time box
  double time_box_seconds = 20;  ///< wall time since the call after which no round starts, except
                                 ///< the first screening round and the first 3 final ones
  /// Fraction by which another contender must be faster than contender 0 to win. If it is above 0,
  /// contender 0 is always a finalist, provided that it runs. 0: no such preference.
  double least_gain = 0;
  std::function<bool()> stop_requested = {};  ///< if set, it is called between runs
};

struct ContestResult {
  std::size_t fastest = 0;  ///< index into the contenders
  double seconds = 0;       ///< its median time for one run
  std::size_t tried = 0;    ///< contenders that ran without an error
};

/// Runs each contender once untimed (on a CPU all of them for a tenth of a second), then once in
/// each screening round. The contenders near the best enter final rounds, in which each is queued
/// several times back to back. Before each such measurement it runs untimed for as long, so that
/// the clock has settled at what the contender's own power draw allows. The lowest median wins, on
/// a CPU the lowest time. Rounds alternate direction, so that a drifting clock affects all alike.
///
/// A contender that fails in its first run is left out. Error: the last contender's if none runs;
/// failed if there is none; any error of a later run; interrupted if stop_requested() was true.
Result<ContestResult> find_fastest(Device& device, Stream& stream,
                                   const std::vector<Contender>& contenders,
                                   const ContestLimits& limits = {});

}  // namespace assay
