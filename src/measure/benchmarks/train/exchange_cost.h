// Communication between the ranks that train one model: checks that all ranks keep the same
// weights, and measures its cost. The cost is given by the times of a step with communication, of a
// step without it, and of the communication alone, and by simulated steps on more ranks.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"
#include "measure/benchmarks/train/exchange_timing.h"
#include "model/training/training.h"
#include "results/record/metric.h"

namespace assay {

/// Numbers of ranks for which steps are simulated, in addition to the number that ran.
inline constexpr std::array predicted_ranks = {4, 8, 64, 1024};

/// Checks by a checksum that all ranks that train (the first `training_ranks` of the team) have the
/// same weights. The whole team calls it together; ranks that do not train pass null. Error:
/// verification, on the ranks that train, naming the step and the first rank whose weights differ
/// from rank 0's; failed if a rank is lost.
Status compare_weights(Training* training, Stream& stream, Team& team, int training_ranks);

/// Checks that all ranks that train read the same data; `hash` is the hash of the data that this
/// rank read. `axis` and `file` are the axis and its value, for the message. The whole team calls
/// it together. Error, on every rank: usage, naming the first rank that read something different
/// from rank 0.
Status compare_files(std::string hash, Team& team, int training_ranks, std::string_view axis,
                     std::string_view file);

/// Times steps of a training with measure_exchange() of exchange_timing.h, in rows that last two
/// seconds on a GPU. The weights are useless afterwards. Which ranks call it, and its errors, are
/// as there.
Result<ExchangeTimes> measure_exchange(Training& training, Device& device, Stream& stream,
                                       TrainingRanks ranks, bool replayed);

/// Simulated step times by number of ranks, and the mutual slowdown of compute and communication.
struct SimulatedSteps {
  std::map<int, double> seconds;  ///< keyed by the number of ranks
  /// Factors of SlowedBeside for the kind of collective that moves the most bytes.
  double slower_passes = 1, slower_exchange = 1;
  bool calibrated = true;    ///< whether the factors could be measured; if not, they are 1
  std::string why_not = "";  ///< the reason if they could not
};

/// Simulates steps on each of `numbers_of_ranks` ranks by simulated_step(). The compute times are
/// those of this rank's forward and backward passes, measured alone and next to repeated
/// collectives, then scaled to the total in `mine`. The communication times are those of the step's
/// collectives one by one, scaled to the total in `times`, which is from of_all_ranks(). Ranks and
/// errors as for measure_exchange().
Result<SimulatedSteps> simulate_steps(Training& training, Device& device, Stream& stream,
                                      TrainingRanks ranks, bool replayed, const ExchangeTimes& mine,
                                      const ExchangeTimes& times,
                                      const std::vector<int>& numbers_of_ranks);

/// Serialises one rank's simulation to send it to the others; of_slowest_rank() picks the rank
/// whose step on `ranks` ranks takes longest, since the others wait for it. Ranks without a
/// simulation have empty texts. Error: failed if a text is malformed.
std::string to_text(const SimulatedSteps& steps);
Result<SimulatedSteps> of_slowest_rank(const std::vector<std::string>& texts, int ranks);

/// What communication costs the ranks of a training.
struct ExchangeCosts {
  ExchangeTimes times;
  SimulatedSteps simulated;

  std::vector<Metric> metrics() const;
  /// A note for the record: why the simulation has no slowdown factors; empty if it has them.
  std::optional<std::string> note() const;
};

/// Measures and simulates all of the above. The whole team calls it together, as compare_weights(),
/// and every rank gets the same result. Errors as for measure_exchange() above.
Result<ExchangeCosts> measure_exchange(Training* training, Device& device, Stream& stream,
                                       TrainingRanks ranks, int training_ranks, bool replayed);

}  // namespace assay
