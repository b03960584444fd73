// What ranks that train one model tell each other: whether it leaves all of them the same weights,
// and what it costs: the time of steps with that exchange and without it, of the exchange alone,
// and by simulation on more ranks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"
#include "measure/benchmarks/exchange_times.h"
#include "model/training.h"

namespace assay {

/// Whether all ranks that train, the first `training_ranks` of the team, have the same weights, by
/// a checksum. The whole team calls it together, a rank that does not train without a training.
/// Error, on those that do: verification, naming the first rank whose weights are not those of rank
/// 0, and the step; failed, if a rank is lost.
Status compare_weights(Training* training, Stream& stream, Team& team, int training_ranks);

/// Steps as measure_exchange() measures them; the weights of the training are of no use afterwards.
Result<ExchangeTimes> measure_exchange(Training& training, Device& device, Stream& stream,
                                       TrainingRanks ranks, bool replayed);

/// Seconds of a step on so many ranks, each with the passes of these: calibrated by this rank's
/// passes and by the operations of the exchange one by one, put together by simulated_step().
/// Called and fails as measure_exchange().
Result<std::map<int, double>> simulate_steps(Training& training, Device& device, Stream& stream,
                                             TrainingRanks ranks, bool replayed,
                                             const std::vector<int>& numbers_of_ranks);

}  // namespace assay
