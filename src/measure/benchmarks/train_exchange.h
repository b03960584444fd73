// What ranks that train one model tell each other: whether it leaves all of them the same weights,
// and what it costs: the time of steps with that exchange and without it, of the exchange alone,
// and by simulation on more ranks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"
#include "model/training.h"

namespace assay {

/// Seconds, medians of several.
struct ExchangeTimes {
  double step = 0;       ///< of a step
  double passes = 0;     ///< of a step without the exchange, on the slowest rank
  double alone = 0;      ///< of the exchange with nothing beside it
  double bus_bytes = 0;  ///< that the exchange moves, as bus_factor() counts them
  double skew = 0;       ///< how much longer a step without it takes on the slowest rank than on
                         ///< the fastest, as a share
  /// Of the devices after steps without the exchange, hertz; 0: unknown.
  double lowest_clock = 0, highest_clock = 0;

  /// What of a step is spent waiting for the exchange. It may be below 0 by chance.
  double exposed() const { return step - passes; }
};

/// Whether all ranks that train, the first `training_ranks` of the team, have the same weights, by
/// a checksum. The whole team calls it together, a rank that does not train without a training.
/// Error, on those that do: verification, naming the first rank whose weights are not those of rank
/// 0, and the step; failed, if a rank is lost.
Status compare_weights(Training* training, Stream& stream, Team& team, int training_ranks);

/// Measures on this rank, whose clock is both of the two. `replayed`: steps are captured once and
/// replayed. All ranks of the communicator call it together; the weights of the training are of no
/// use afterwards. Error: of queueing; failed, if a rank is lost.
Result<ExchangeTimes> measure_exchange(Training& training, Device& device, Stream& stream,
                                       TrainingRanks ranks, bool replayed);

/// Seconds of a step on so many ranks, each with the passes of these: calibrated by this rank's
/// passes and by the operations of the exchange one by one, put together by simulated_step().
/// Called and fails as measure_exchange().
Result<std::map<int, double>> simulate_steps(Training& training, Device& device, Stream& stream,
                                             TrainingRanks ranks, bool replayed,
                                             const std::vector<int>& numbers_of_ranks);

/// One rank's times as text for the others, and what they come to for all ranks together. Empty
/// texts are those of ranks without times. Error: failed if a text is not of this form.
std::string to_text(const ExchangeTimes& times);
Result<ExchangeTimes> of_all_ranks(const std::vector<std::string>& texts);

}  // namespace assay
