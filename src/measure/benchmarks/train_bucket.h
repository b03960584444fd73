// How many bytes of gradients ranks send at once: with few, the time until an operation moves bytes
// counts often; with many, the last ones come late. What is best depends on the machine and on the
// model, so that it is measured, and remembered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compute/choice/choice_cache.h"
#include "compute/device/device.h"
#include "core/result.h"
#include "measure/benchmarks/train_model.h"
#include "model/training.h"

namespace assay {

/// Bytes that are tried, 8 to 128 MiB.
std::vector<std::uint64_t> bucket_candidates();

struct TimedBucket {
  std::uint64_t bytes = 0;
  double seconds = 0;  ///< of a step on this rank, the median of several
};

/// Takes steps with each candidate in turn, of those that send the same only with the first; with
/// none if all do. The training has gone on afterwards, and keeps the last one. All ranks that
/// train call it together. Error: of queueing; failed, if a rank is lost.
Result<std::vector<TimedBucket>> time_buckets(Training& training, Device& device, Stream& stream,
                                              TrainingRanks ranks, bool replayed,
                                              const std::vector<std::uint64_t>& candidates);

struct BucketChoice {
  std::uint64_t bytes = 0;
  std::string times;  ///< "8MiB 15.20 ms, 64MiB 14.90 ms"; empty: all candidates send the same
  bool remembered = false;
};

/// That of the least seconds; of none, the one of ParallelPlan.
BucketChoice fastest_bucket(const std::vector<TimedBucket>& timed);

/// "64MiB: 8MiB 15.20 ms, 64MiB 14.90 ms" and back; empty, if the text is of another form.
std::string to_text(const BucketChoice& choice);
std::optional<BucketChoice> read_bucket_choice(std::string_view text);

/// What rank 0 remembers for `key`, or has measured with a training of its own, which is thrown
/// away before this returns, and keeps. The whole team calls it together, of which the first
/// `training_ranks` train, and gets the same. Error: the first rank's.
Result<BucketChoice> choose_bucket(const TrainModel& model, const ChoiceCache& cache,
                                   const ChoiceKey& key, int training_ranks, bool replayed,
                                   Device& device, Stream& stream, TrainingRanks ranks);

}  // namespace assay
