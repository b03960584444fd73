// The mutual slowdown of compute and communication when they overlap. It is measured with one
// repeated collective of each kind instead of the step's own collectives, so that a simulation that
// uses these factors can be compared with measured steps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"
#include "measure/benchmarks/train/exchange_timing.h"
#include "model/parallel/step_simulation.h"
#include "model/training/training.h"

namespace assay {

/// The slowdown of the passes and of one kind of collective when both run at once: time together
/// divided by time alone.
struct SlowedBeside {
  CollectiveOperation operation = CollectiveOperation::all_reduce;
  double passes = 1;    ///< forward and backward, without the update
  double exchange = 1;  ///< the collective
};

struct TrainOverlap {
  /// The parts of a step without communication, each with its slowdown factors (`slowed`).
  std::vector<StepCall> calls;
  /// One entry for each collective of repeated_calls(), in the same order.
  std::vector<SlowedBeside> kinds;
  /// Returns whether the collectives covered the whole of the passes in every run. If they did not,
  /// `kinds` is empty, and `why_not` gives the reason on the ranks that know it.
  bool calibrated() const { return !kinds.empty(); }
  std::string why_not;
};

/// Runs the passes on this rank alone and next to each collective of repeated_calls() in turn, each
/// time after an untimed warm-up pass. If a rank lacks the memory for a collective, all ranks run
/// the passes alone. `times` is from of_all_ranks(), so that all ranks derive the same sizes of
/// collectives; `exchanged` lists the collectives of a step. The ranks that train call it together.
/// The weights are useless afterwards. Error: from queueing and allocating; failed if a rank is
/// lost.
Result<TrainOverlap> measure_overlap(Training& training, Device& device, Stream& stream,
                                     TrainingRanks ranks, bool replayed, const ExchangeTimes& times,
                                     const std::vector<CollectiveCall>& exchanged);

/// The collectives that measure_overlap() repeats, without buffers: one of each kind that moves at
/// least a tenth of all bytes, the kind that moves most first. Within a kind, the size that moves
/// the most bytes in total is chosen, and cut so that one collective takes at most about 1/16 of
/// the passes.
std::vector<CollectiveCall> repeated_calls(const std::vector<CollectiveCall>& exchanged,
                                           const ExchangeTimes& times, int ranks);
/// How many repetitions of a collective last for twice the passes, from 4 to 16384; both arguments
/// are in seconds and measured alone. Twice, because passes may be slowed more than collectives
/// when they overlap (1.69 and 1.24 times as long on four H100).
std::size_t repetitions(double operation, double passes);

/// The median time of each call over several runs of the same calls.
std::vector<StepCall> medians_of(const std::vector<std::vector<StepCall>>& runs);
/// Sets the slowdown factor of every call for `operation`, from runs of the calls alone and next to
/// that collective. Returns the slowdown of all calls up to the update.
double set_slowed(std::vector<StepCall>& calls, CollectiveOperation operation,
                  const std::vector<std::vector<StepCall>>& alone,
                  const std::vector<std::vector<StepCall>>& beside);

/// Scales all calls by one factor so that together they take `seconds`. Does nothing if `seconds`
/// is 0 (unknown).
void spread_over(std::vector<StepCall>& calls, double seconds);

/// The mean duration, in seconds, of the consecutive operations that lie between `from` and `to`.
/// `ends` holds the time when the first one began and the times when each ended. Empty if none lies
/// between them.
std::optional<double> seconds_between(const std::vector<double>& ends, double from, double to);

}  // namespace assay
