#include "measure/benchmarks/train_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "statistics/summary.h"

namespace assay {
namespace {

/// The calls of a step without exchange, with their times.
Result<std::vector<StepCall>> record_step(Training& training, Device& device, Stream& stream,
                                          RankStopwatch& stopwatch, bool replayed) {
  StepRecorder recorder(device, replayed);
  RepeatedWork passes = TRY(RepeatedWork::create(
      stream, replayed, [&] { return training.step_without_exchange(stream, &recorder); }));
  // The first replay warms up; without a graph the recorder has only one step.
  for (int i = 0; i < (replayed ? 2 : 1); ++i) TRY(stopwatch.time(std::ref(passes)));
  return recorder.calls();
}

/// Times each operation of the exchange alone, once per size, and a small one of its kind.
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

Result<ExchangeTimes> measure_exchange(Training& training, Device& device, Stream& stream,
                                       TrainingRanks ranks, bool replayed) {
  return measure_exchange({.step = [&] { return training.step(stream); },
                           .passes = [&] { return training.step_without_exchange(stream); },
                           .alone = [&] { return training.exchange_alone(stream); },
                           .exchanged = [&] { return training.exchanged(); }},
                          device, stream, ranks, replayed);
}

Result<std::map<int, double>> simulate_steps(Training& training, Device& device, Stream& stream,
                                             TrainingRanks ranks, bool replayed,
                                             const std::vector<int>& numbers_of_ranks) {
  RankStopwatch stopwatch = TRY(RankStopwatch::create(device, stream, ranks));
  TRY(training.exchange_alone(stream));
  const auto model =
      TRY(measure_operations(training.exchanged(), stream, stopwatch, *ranks.communicator));
  const auto calls = TRY(record_step(training, device, stream, stopwatch, replayed));
  std::map<int, double> seconds;
  for (const int number : numbers_of_ranks) {
    seconds[number] =
        TRY(simulated_step(calls, model, training.plan_of_parameters(), training.arenas(), number));
  }
  return seconds;
}

}  // namespace assay
