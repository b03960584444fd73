#include "measure/benchmarks/train_bucket.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "core/units.h"
#include "measure/benchmarks/exchange_times.h"
#include "ranks/team/agreement.h"
#include "statistics/summary.h"

namespace assay {
namespace {

/// The candidates that differ in which sections are sent together.
std::vector<std::uint64_t> different(const std::vector<std::uint64_t>& candidates,
                                     const Training& training) {
  const std::size_t element = size_of(training.plan_of_parameters().type);
  std::vector<std::uint64_t> kept;
  std::vector<std::size_t> last;
  for (const std::uint64_t bytes : candidates) {
    auto firsts = first_sections_of_buckets(training.arenas().sections(), element, bytes);
    if (firsts == last) continue;
    last = std::move(firsts);
    kept.push_back(bytes);
  }
  return kept;
}

}  // namespace

std::vector<std::uint64_t> bucket_candidates() {
  constexpr std::uint64_t mebibyte = 1 << 20;
  return {8 * mebibyte, 16 * mebibyte, 32 * mebibyte, 64 * mebibyte, 128 * mebibyte};
}

Result<std::vector<TimedBucket>> time_buckets(Training& training, Device& device, Stream& stream,
                                              TrainingRanks ranks, bool replayed,
                                              const std::vector<std::uint64_t>& candidates) {
  constexpr int rounds = 5;  // in turn, so that a drift touches all of them
  std::vector<TimedBucket> timed;
  std::vector<RepeatedWork> steps;
  for (const std::uint64_t bytes : different(candidates, training)) {
    timed.push_back({bytes, 0});
    steps.push_back(TRY(RepeatedWork::create(stream, replayed, [&training, &stream, bytes] {
      training.set_bucket(bytes);
      return training.step(stream);
    })));
  }
  if (timed.size() < 2) return std::vector<TimedBucket>();
  RankStopwatch stopwatch = TRY(RankStopwatch::create(device, stream, ranks));
  std::vector<std::vector<double>> seconds(timed.size());
  for (int round = -1; round < rounds; ++round) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const double taken = TRY(stopwatch.time(std::ref(steps[i])));
      if (round >= 0) seconds[i].push_back(taken);  // the first of each warms up
    }
  }
  for (std::size_t i = 0; i < timed.size(); ++i) timed[i].seconds = median(seconds[i]);
  return timed;
}

BucketChoice fastest_bucket(const std::vector<TimedBucket>& timed) {
  BucketChoice choice = {ParallelPlan().bucket_bytes, "", false};
  if (timed.empty()) return choice;
  choice.bytes = std::ranges::min_element(timed, {}, &TimedBucket::seconds)->bytes;
  std::vector<std::string> times;
  for (const TimedBucket& one : timed) {
    times.push_back(fmt::format("{} {}", format_size(one.bytes), format_seconds(one.seconds)));
  }
  choice.times = fmt::format("{}", fmt::join(times, ", "));
  return choice;
}

std::string to_text(const BucketChoice& choice) {
  return fmt::format("{}: {}", format_size(choice.bytes), choice.times);
}

std::optional<BucketChoice> read_bucket_choice(std::string_view text) {
  constexpr std::string_view between = ": ";
  const std::size_t at = text.find(between);
  if (at == std::string_view::npos) return std::nullopt;
  const auto bytes = parse_size(text.substr(0, at));
  if (!bytes.ok()) return std::nullopt;
  return BucketChoice{*bytes, std::string(text.substr(at + between.size())), false};
}

Result<BucketChoice> choose_bucket(const TrainModel& model, const ChoiceCache& cache,
                                   const ChoiceKey& key, int training_ranks, bool replayed,
                                   Device& device, Stream& stream, TrainingRanks ranks) {
  Team& team = *ranks.team;
  const bool takes_part = team.rank() < training_ranks, decides = team.rank() == 0;
  std::string text = decides ? cache.find(device.facts(), key).value_or("") : "";
  text = TRY(from_rank_0(team, "looking for a bucket", std::move(text)));
  if (auto known = read_bucket_choice(text)) {
    known->remembered = true;
    return *std::move(known);
  }
  std::unique_ptr<Training> training;
  std::vector<TimedBucket> timed;
  // Where one rank can fail, all agree before they go on.
  const auto together = [&](std::string_view step, const std::function<Status()>& what) {
    return agree(team, step, takes_part ? what() : Status());
  };
  TRY(together("making a model to choose a bucket", [&]() -> Status {
    training = TRY(model.create(device, stream, ranks));
    return {};
  }));
  TRY(together("a step to choose a bucket", [&] { return training->step(stream); }));
  TRY(together("choosing a bucket", [&]() -> Status {
    timed = TRY(time_buckets(*training, device, stream, ranks, replayed, bucket_candidates()));
    return {};
  }));
  text = decides ? to_text(fastest_bucket(timed)) : "";
  text = TRY(from_rank_0(team, "the chosen bucket", std::move(text)));
  const auto chosen = read_bucket_choice(text);
  if (!chosen) return Error{ErrorKind::failed, "rank 0 sent no size of a bucket"};
  if (decides) cache.keep(device.facts(), key, text);
  return *chosen;
}

}  // namespace assay
