// What ranks that train one model tell each other: whether it leaves all of them the same weights,
// and what it costs: the time of steps with that exchange and without it, of the exchange alone,
// and by simulation on more ranks.
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
#include "model/training.h"
#include "results/record/metric.h"

namespace assay {

/// The numbers of ranks for which steps are simulated, beside the one that ran.
inline constexpr std::array predicted_ranks = {4, 8, 64, 1024};

/// Whether all ranks that train, the first `training_ranks` of the team, have the same weights, by
/// a checksum. The whole team calls it together, a rank that does not train without a training.
/// Error, on those that do: verification, naming the first rank whose weights are not those of rank
/// 0, and the step; failed, if a rank is lost.
Status compare_weights(Training* training, Stream& stream, Team& team, int training_ranks);

/// Whether ranks that train read the same, which `hash` is of, where the axis `axis` has `file`.
/// The whole team calls it together. Error, on all of it: usage, naming the first rank that read
/// something else than rank 0.
Status compare_files(std::string hash, Team& team, int training_ranks, std::string_view axis,
                     std::string_view file);

/// Steps as measure_exchange() measures them, on a GPU for seconds; the weights of the training are
/// of no use afterwards.
Result<ExchangeTimes> measure_exchange(Training& training, Device& device, Stream& stream,
                                       TrainingRanks ranks, bool replayed);

/// What a step takes on numbers of ranks, and by how much passes and exchange slow each other down.
struct SimulatedSteps {
  std::map<int, double> seconds;
  /// As SlowedBeside's, of the kind of operation that moves most.
  double slower_passes = 1, slower_exchange = 1;
  bool calibrated = true;
  std::string why_not = "";
};

/// Steps on so many ranks, each with the passes of this one, put together by simulated_step(). It
/// is calibrated by these passes, alone and beside operations that repeat, which then together
/// take those of `mine`, and by the operations of the exchange one by one, which together take that
/// of `times`: of_all_ranks(). Called and fails as measure_exchange().
Result<SimulatedSteps> simulate_steps(Training& training, Device& device, Stream& stream,
                                      TrainingRanks ranks, bool replayed, const ExchangeTimes& mine,
                                      const ExchangeTimes& times,
                                      const std::vector<int>& numbers_of_ranks);

/// One rank's simulation as text for the others, and that of the rank with the longest steps on
/// `ranks` ranks, for whom the others wait. Empty texts are those of ranks without one. Error:
/// failed if a text is not of this form.
std::string to_text(const SimulatedSteps& steps);
Result<SimulatedSteps> of_slowest_rank(const std::vector<std::string>& texts, int ranks);

/// What their exchange costs the ranks of a training.
struct ExchangeCosts {
  ExchangeTimes times;
  SimulatedSteps simulated;

  std::vector<Metric> metrics() const;
  /// Of the record: why the simulation knows no factors; empty: it does.
  std::optional<std::string> note() const;
};

/// Measures and simulates all of that. The whole team calls it together, as compare_weights(), and
/// gets the same. Fails as measure_exchange().
Result<ExchangeCosts> measure_exchange(Training* training, Device& device, Stream& stream,
                                       TrainingRanks ranks, int training_ranks, bool replayed);

}  // namespace assay
