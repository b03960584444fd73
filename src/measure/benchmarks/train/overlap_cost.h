// How much slower passes are while ranks tell each other something beside them, and how much slower
// that is beside passes: measured with one operation of each kind, which repeats, not with a step's
// own exchange, so that a simulation made of it can be held against steps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"
#include "measure/benchmarks/train/exchange_timing.h"
#include "model/step_simulation.h"
#include "model/training.h"

namespace assay {

/// Passes and one kind of operation beside each other, each how many times as long as alone.
struct SlowedBeside {
  CollectiveOperation operation = CollectiveOperation::all_reduce;
  double passes = 1;  ///< all parts up to the update
  double exchange = 1;
};

struct TrainOverlap {
  /// Of a step without exchange, with `slowed` of each part.
  std::vector<StepCall> calls;
  /// Of each kind of repeated_calls(), in their order.
  std::vector<SlowedBeside> kinds;
  /// Whether the operations went on beside all of the passes, in each run; if not, there are no
  /// `kinds`, and it is said why, on the ranks that know.
  bool calibrated() const { return !kinds.empty(); }
  std::string why_not;
};

/// Runs passes alone and beside each operation of repeated_calls() in turn, on this rank, each
/// after passes that do not count. Where a rank has no memory for the operation, they run alone on
/// all ranks. `times`: of_all_ranks(), from which all ranks conclude alike how large the operations
/// are; `exchanged`: the operations of a step. The ranks that train call it together. The weights
/// are of no use afterwards. Error: of queueing and allocating; failed, if a rank is lost.
Result<TrainOverlap> measure_overlap(Training& training, Device& device, Stream& stream,
                                     TrainingRanks ranks, bool replayed, const ExchangeTimes& times,
                                     const std::vector<CollectiveCall>& exchanged);

/// The operations of measure_overlap(), without buffers: one of each kind that moves a tenth of the
/// exchange, the kind that moves most first. Those of the kind that have the same size count
/// together: it is one of those that move most, or so much of it that a sixteenth of the passes
/// goes by.
std::vector<CollectiveCall> repeated_calls(const std::vector<CollectiveCall>& exchanged,
                                           const ExchangeTimes& times, int ranks);
/// How often it repeats, so that it goes on for twice the passes: both in s, with nothing beside
/// them: together, passes may lose more than operations (1.69 and 1.24 times as long on four H100).
std::size_t repetitions(double operation, double passes);

/// Of several runs of the same calls: medians of each.
std::vector<StepCall> medians_of(const std::vector<std::vector<StepCall>>& runs);
/// Sets `slowed` of these calls, by runs of them alone and beside an operation of this kind.
/// Returns how many times as long all of them up to the update take there.
double set_slowed(std::vector<StepCall>& calls, CollectiveOperation operation,
                  const std::vector<std::vector<StepCall>>& alone,
                  const std::vector<std::vector<StepCall>>& beside);

/// Makes all calls together take `seconds`, each its share. Nothing changes if that is 0: unknown.
void spread_over(std::vector<StepCall>& calls, double seconds);

/// The mean seconds of operations in a row that lie between `from` and `to`; `ends`: when the first
/// began and when each ended. Empty: none does.
std::optional<double> seconds_between(const std::vector<double>& ends, double from, double to);

}  // namespace assay
