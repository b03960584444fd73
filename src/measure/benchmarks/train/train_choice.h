// Chooses the communication library and the bucket size for the gradients. Small buckets pay the
// latency of a collective often; large ones delay the last gradients. One library may be faster
// alone, while another slows overlapping compute less. The best choice depends on the machine and
// the model, so it is measured and remembered.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compute/autotune/choice_cache.h"
#include "compute/device/device.h"
#include "core/result.h"
#include "measure/benchmarks/train/exchange_timing.h"
#include "measure/benchmarks/train/train_cell.h"
#include "measure/benchmarks/train/train_model.h"
#include "measure/grid/benchmark.h"
#include "model/training/training.h"

namespace assay {

/// Bucket sizes to try, 8 to 128 MiB in bytes; the default comes first.
std::vector<std::uint64_t> bucket_candidates();
/// The candidates that group the sections differently; of those that group them alike only the
/// first. `element`: bytes of one gradient.
std::vector<std::uint64_t> different_buckets(const std::vector<std::uint64_t>& candidates,
                                             const std::vector<Section>& sections,
                                             std::size_t element);

/// Measured steps with one library and one bucket size.
struct TimedExchange {
  std::string library;
  std::uint64_t bucket = 0;     ///< bytes
  std::vector<double> seconds;  ///< seconds of each step on this rank

  double typical() const;  ///< their median
  double spread() const;   ///< interquartile range
};

/// Times steps with each bucket size in turn, after `warm_up` untimed steps. These steps train the
/// model further, and the last bucket size stays set. All ranks that train call it together. Error:
/// from queueing, on the ranks where that fails; silence on the others; failed if a rank is lost.
Result<std::vector<TimedExchange>> time_buckets(Training& training, Stream& stream,
                                                RankStopwatch& stopwatch, bool replayed,
                                                const std::vector<std::uint64_t>& buckets,
                                                std::uint64_t warm_up);

struct ExchangeChoice {
  std::string library;
  std::uint64_t bucket = 0;  ///< bytes
  std::string times;  ///< "tcp 32MiB 15.20 ms, tcp 64MiB 14.90 ms"; empty if nothing was measured
  bool remembered = false;  ///< measured in an earlier run
};

/// The fastest entry of `timed` (at least one) if it beats the first by more than 1% and by more
/// than the interquartile range of either; otherwise the first.
ExchangeChoice fastest_exchange(const std::vector<TimedExchange>& timed);

/// Converts to and from "tcp 64MiB: tcp 8MiB 15.20 ms, tcp 64MiB 14.90 ms". Reading returns empty
/// if the text has another form.
std::string to_text(const ExchangeChoice& choice);
std::optional<ExchangeChoice> read_exchange_choice(std::string_view text);

/// The choice as a note: "nccl 64MiB, remembered: nccl 8MiB 15.20 ms, nccl 64MiB 14.90 ms".
std::string described(const ExchangeChoice& choice);

/// Text of everything that the best library and bucket size depend on: the version of assay, the
/// cell's axes that affect a step, and the ranks that train. For each of these, in order, it has
/// the host, the device, and a hash of the NCCL and RCCL variables. The whole team calls it
/// together; rank 0's text is used. Error: as Team::exchange().
Result<std::string> exchange_problem(const Cell& cell, const DeviceFacts& facts, Team& team);

/// The candidates to choose from. The first of each list is kept unless another one is faster.
struct ExchangeCandidates {
  std::vector<std::string> libraries;  ///< names of communication libraries
  std::vector<std::uint64_t> buckets;  ///< sizes in bytes
  /// Returns the communicator of a library, or null on ranks that do not train. The whole team
  /// calls it together.
  std::function<Result<Communicator*>(const std::string&)> communicator;
};

/// Returns what rank 0 remembers for `problem`. If it remembers nothing, the ranks time temporary
/// trainings, which are destroyed before this returns, and rank 0 stores the result. If there are
/// several libraries, the first is timed again at the end, so that drift is not mistaken for a
/// difference. Libraries that this machine lacks are skipped, but an error from the first is
/// returned. If only one candidate remains, it is returned without measuring. The whole team calls
/// it together, of which the first `training_ranks` train, and every rank gets the same choice.
/// Error: that of the first rank that has an error.
Result<ExchangeChoice> choose_exchange(const TrainModel& model, const ChoiceCache& cache,
                                       const std::string& problem,
                                       const ExchangeCandidates& candidates, int training_ranks,
                                       bool replayed, Device& device, Stream& stream, Team& team);

/// The library and bucket size for a cell, chosen by measuring where the cell leaves them open. On
/// an emulated device nothing is measured, because its times say nothing about a chip. The whole
/// team calls it together. Error: as exchange_problem() and choose_exchange().
Result<ExchangeChoice> exchange_of(const Cell& cell, const TrainCell& parsed,
                                   PrepareContext& context);

}  // namespace assay
