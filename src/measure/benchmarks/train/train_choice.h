// By which library, and how many bytes at once, ranks send their gradients. With few bytes, the
// time until an operation moves any counts often; with many, the last ones come late; one library
// is faster alone, another takes less from the passes beside it. What is best depends on the
// machine and on the model, so that it is measured, and remembered.
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
#include "model/training.h"

namespace assay {

/// Bytes of a bucket that are tried, 8 to 128 MiB, first the usual ones.
std::vector<std::uint64_t> bucket_candidates();
/// Those that differ in which sections are sent together, the first ones of their kind; `element`:
/// bytes of one.
std::vector<std::uint64_t> different_buckets(const std::vector<std::uint64_t>& candidates,
                                             const std::vector<Section>& sections,
                                             std::size_t element);

struct TimedExchange {
  std::string library;
  std::uint64_t bucket = 0;     ///< bytes
  std::vector<double> seconds;  ///< of steps on this rank

  double typical() const;  ///< their median
  double spread() const;   ///< between their quartiles
};

/// Takes steps with each bucket in turn, after `warm_up` others. The training has gone on
/// afterwards, and keeps the last one. All ranks that train call it together. Error: of queueing,
/// on the ranks that cannot; silence, if another one cannot; failed, if a rank is lost.
Result<std::vector<TimedExchange>> time_buckets(Training& training, Stream& stream,
                                                RankStopwatch& stopwatch, bool replayed,
                                                const std::vector<std::uint64_t>& buckets,
                                                std::uint64_t warm_up);

struct ExchangeChoice {
  std::string library;
  std::uint64_t bucket = 0;
  std::string times;  ///< "tcp 32MiB 15.20 ms, tcp 64MiB 14.90 ms"
  bool remembered = false;
};

/// The first of `timed`, of at least one, unless another is faster: by more than 1%, and by more
/// than the steps of either spread.
ExchangeChoice fastest_exchange(const std::vector<TimedExchange>& timed);

/// "tcp 64MiB: tcp 8MiB 15.20 ms, tcp 64MiB 14.90 ms" and back; empty, if the text is of another
/// form.
std::string to_text(const ExchangeChoice& choice);
std::optional<ExchangeChoice> read_exchange_choice(std::string_view text);

/// "nccl 64MiB, remembered: nccl 8MiB 15.20 ms, nccl 64MiB 14.90 ms"
std::string described(const ExchangeChoice& choice);

/// What the best library and size of a bucket depend on: this version of assay, the cell, but for
/// what comes before and after its steps, and of each of its ranks, in their order, the host, the
/// device and what the variables of NCCL and RCCL say. The whole team calls it together; rank 0's
/// counts. Error: as Team::exchange.
Result<std::string> exchange_problem(const Cell& cell, const DeviceFacts& facts, Team& team);

/// What there is to choose from, first what is kept unless something else is faster.
struct ExchangeCandidates {
  std::vector<std::string> libraries;
  std::vector<std::uint64_t> buckets;
  /// The communicator of a library, null on ranks that do not train; the whole team calls it.
  std::function<Result<Communicator*>(const std::string&)> communicator;
};

/// What rank 0 remembers for `problem`, or has measured with trainings of its own, which are thrown
/// away before this returns, and keeps. Of several libraries the first one's comes once more at the
/// end, so that a drift is not taken for a library. Libraries that this machine has not are left
/// out, but for the first one; where one way is left, it is that, and nothing is measured. The
/// whole team calls it together, of which the first `training_ranks` train, and gets the same.
/// Error: the first rank's.
Result<ExchangeChoice> choose_exchange(const TrainModel& model, const ChoiceCache& cache,
                                       const std::string& problem,
                                       const ExchangeCandidates& candidates, int training_ranks,
                                       bool replayed, Device& device, Stream& stream, Team& team);

/// By what the ranks of a cell exchange gradients: chosen where the cell leaves something open. An
/// emulator's times say nothing about a chip, and choose nothing. The whole team calls it together.
Result<ExchangeChoice> exchange_of(const Cell& cell, const TrainCell& parsed,
                                   PrepareContext& context);

}  // namespace assay
