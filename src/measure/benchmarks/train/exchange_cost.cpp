#include "measure/benchmarks/train/exchange_cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "compute/device/helpers.h"
#include "measure/benchmarks/train/overlap_cost.h"
#include "ranks/team/wire.h"
#include "statistics/summary.h"

namespace assay {
namespace {

/// Times each collective of a step alone, once per size, and a small one of the same kind.
Result<ExchangeModel> measure_operations(const std::vector<CollectiveCall>& calls, Stream& stream,
                                         RankStopwatch& stopwatch, Communicator& communicator) {
  constexpr int rounds = 5;
  constexpr std::size_t small = 128;  // elements
  ExchangeModel model(communicator.size());
  std::set<std::pair<CollectiveOperation, std::uint64_t>> known;
  const auto measure = [&](const CollectiveCall& call) -> Status {
    const std::uint64_t bytes = bytes_of(call, communicator.size());
    if (!known.emplace(call.operation, bytes).second) return {};
    std::vector<double> seconds;
    for (int i = 0; i < rounds; ++i) {
      seconds.push_back(TRY(stopwatch.time([&] { return communicator.enqueue(call, stream); })));
    }
    model.add(call.operation, bytes, median(seconds));
    return {};
  };
  for (CollectiveCall call : calls) {
    TRY(measure(call));
    call.count = std::min(call.count, small);
    TRY(measure(call));
  }
  return model;
}

}  // namespace

Status compare_weights(Training* training, Stream& stream, Team& team, int training_ranks) {
  std::string mine;
  if (training != nullptr) mine = std::to_string(TRY(training->checksum(stream)));
  const std::vector<std::string> all = TRY(team.exchange("comparing weights", std::move(mine)));
  if (training == nullptr) return {};
  for (std::size_t i = 1; i < static_cast<std::size_t>(training_ranks); ++i) {
    if (all[i] == all.front()) continue;
    return Error{ErrorKind::verification,
                 fmt::format("the weights of {} are not those of {} after step {}",
                             name_of(team.members()[i]), name_of(team.members().front()),
                             TRY(training->state(stream)).step)};
  }
  return {};
}

Status compare_files(std::string hash, Team& team, int training_ranks, std::string_view axis,
                     std::string_view file) {
  const std::vector<std::string> all =
      TRY(team.exchange("comparing what ranks read", std::move(hash)));
  for (std::size_t i = 1; i < static_cast<std::size_t>(training_ranks); ++i) {
    if (all[i] == all.front()) continue;
    return Error{
        ErrorKind::usage,
        fmt::format("{}={}: {} read something else than {}; give every rank the same", axis, file,
                    name_of(team.members()[i]), name_of(team.members().front()))};
  }
  return {};
}

Result<ExchangeTimes> measure_exchange(Training& training, Device& device, Stream& stream,
                                       TrainingRanks ranks, bool replayed) {
  const bool clock_changes = suits_large_work(device.facts());
  return measure_exchange({.step = [&] { return training.step(stream); },
                           .passes = [&] { return training.step_without_exchange(stream); },
                           .alone = [&] { return training.exchange_alone(stream); },
                           .exchanged = [&] { return training.exchanged(); },
                           .goes_on = clock_changes ? 2.0 : 0.0},
                          device, stream, ranks, replayed);
}

Result<SimulatedSteps> simulate_steps(Training& training, Device& device, Stream& stream,
                                      TrainingRanks ranks, bool replayed, const ExchangeTimes& mine,
                                      const ExchangeTimes& times,
                                      const std::vector<int>& numbers_of_ranks) {
  RankStopwatch stopwatch = TRY(RankStopwatch::create(device, stream, ranks));
  TRY(training.exchange_alone(stream));
  const std::vector<CollectiveCall> calls = training.exchanged();
  auto model = TRY(measure_operations(calls, stream, stopwatch, *ranks.communicator));
  model.spread_over(calls, times.alone);
  // Repeated sums of gradients soon become infinite in f16, and an update with infinite gradients
  // would be skipped. A normal step restores them.
  TRY(training.step(stream));
  TrainOverlap overlap =
      TRY(measure_overlap(training, device, stream, ranks, replayed, times, calls));
  spread_over(overlap.calls, mine.passes);
  for (const SlowedBeside& kind : overlap.kinds) model.set_slowed(kind.operation, kind.exchange);
  SimulatedSteps steps;
  steps.calibrated = overlap.calibrated();
  steps.why_not = overlap.why_not;
  if (steps.calibrated) {
    steps.slower_passes = overlap.kinds.front().passes;
    steps.slower_exchange = overlap.kinds.front().exchange;
  }
  for (const int number : numbers_of_ranks) {
    steps.seconds[number] = TRY(simulated_step(overlap.calls, model, training.plan_of_parameters(),
                                               training.arenas(), number));
  }
  return steps;
}

std::string to_text(const SimulatedSteps& steps) {
  std::string text;
  const auto put_double = [&](double value) { put(text, std::bit_cast<std::uint64_t>(value)); };
  put_double(steps.slower_passes);
  put_double(steps.slower_exchange);
  put(text, std::uint64_t{steps.calibrated});
  put(text, steps.why_not);
  put(text, steps.seconds.size());
  for (const auto& [ranks, seconds] : steps.seconds) {
    put(text, static_cast<std::uint64_t>(ranks));
    put_double(seconds);
  }
  return text;
}

Result<SimulatedSteps> of_slowest_rank(const std::vector<std::string>& texts, int ranks) {
  SimulatedSteps slowest;
  std::string why_not;  // one rank's reason applies to all, because they measure together
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    if (texts[rank].empty()) continue;
    PayloadReader reader(texts[rank]);
    const auto next = [&] { return std::bit_cast<double>(reader.number()); };
    SimulatedSteps one;
    one.slower_passes = next();
    one.slower_exchange = next();
    one.calibrated = reader.number() != 0;
    one.why_not = reader.text();
    for (std::uint64_t left = reader.number(); left > 0 && reader.ok(); --left) {
      const auto number = static_cast<int>(reader.number());
      one.seconds[number] = next();
    }
    if (!reader.ok() || !one.seconds.contains(ranks)) {
      return Error{ErrorKind::failed, "a rank sent an incomplete simulation of its steps"};
    }
    if (why_not.empty() && !one.why_not.empty()) {
      why_not = fmt::format("rank {}: {}", rank, one.why_not);
    }
    if (one.seconds[ranks] > slowest.seconds[ranks]) slowest = std::move(one);
  }
  slowest.why_not = slowest.calibrated ? "" : why_not;
  return slowest;
}

Result<ExchangeCosts> measure_exchange(Training* training, Device& device, Stream& stream,
                                       TrainingRanks ranks, int training_ranks, bool replayed) {
  ExchangeCosts costs;
  ExchangeTimes mine;
  std::string text;
  if (training != nullptr) {
    TRY(training->hold_weights(stream));
    mine = TRY(measure_exchange(*training, device, stream, ranks, replayed));
    text = to_text(mine);
  }
  const auto times = TRY(ranks.team->exchange("comparing the times of steps", std::move(text)));
  costs.times = TRY(of_all_ranks(times));
  text.clear();
  if (training != nullptr) {
    std::set<int> numbers(predicted_ranks.begin(), predicted_ranks.end());
    numbers.insert(training_ranks);
    text = to_text(TRY(simulate_steps(*training, device, stream, ranks, replayed, mine, costs.times,
                                      {numbers.begin(), numbers.end()})));
  }
  const auto steps = TRY(ranks.team->exchange("comparing simulated steps", std::move(text)));
  costs.simulated = TRY(of_slowest_rank(steps, training_ranks));
  return costs;
}

std::optional<std::string> ExchangeCosts::note() const {
  if (simulated.calibrated) return std::nullopt;
  return "not calibrated: " + simulated.why_not;
}

std::vector<Metric> ExchangeCosts::metrics() const {
  std::vector<Metric> all;
  const auto add = [&](std::string name, double value, const char* unit) {
    all.push_back({.name = std::move(name), .value = value, .unit = unit, .text = ""});
  };
  add("time_with_exchange", times.step, "s");
  add("time_without_exchange", times.passes, "s");
  add("exchange_exposed", times.exposed(), "s");
  add("exchange_alone", times.alone, "s");
  add("exchange_bus_bandwidth", times.bus_bytes / times.alone, "bytes/s");
  add("rank_skew", times.skew, "1");
  if (simulated.calibrated) {
    add("passes_slowed_by_exchange", simulated.slower_passes, "1");
    add("exchange_slowed_by_passes", simulated.slower_exchange, "1");
  }
  for (const auto& [ranks, seconds] : simulated.seconds) {
    add(fmt::format("simulated_step_time_{}_ranks", ranks), seconds, "s");
  }
  if (times.highest_clock > 0) {
    add("rank_clock_lowest", times.lowest_clock, "1/s");
    add("rank_clock_highest", times.highest_clock, "1/s");
  }
  return all;
}

}  // namespace assay
