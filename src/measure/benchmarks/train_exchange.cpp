#include "measure/benchmarks/train_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <set>

#include "ranks/collective/communicators.h"
#include "ranks/team/wire.h"
#include "statistics/summary.h"

namespace assay {
namespace {

/// Times work that all ranks begin together.
class Stopwatch {
 public:
  static Result<Stopwatch> create(Device& device, Stream& stream, TrainingRanks ranks) {
    Stopwatch made(stream, ranks);
    made.begin_ = TRY(device.create_event());
    made.end_ = TRY(device.create_event());
    made.idle_ = TRY(device.create_event());
    made.barrier_ = TRY(device.allocate(2 * sizeof(float), MemoryKind::device));
    TRY(stream.fill(made.barrier_.data(), 0, made.barrier_.bytes()));
    return made;
  }

  Result<double> time(const std::function<Status()>& queue) {
    TRY(wait());
    TRY(start_together(*ranks_.communicator, barrier_, stream_));
    TRY(stream_.record(*begin_));
    TRY(queue());
    TRY(stream_.record(*end_));
    TRY(wait());
    TRY(ranks_.communicator->status());
    return end_->seconds_since(*begin_);
  }

  Status wait() { return wait_for_ranks(*ranks_.communicator, stream_, *idle_, *ranks_.team); }

 private:
  Stopwatch(Stream& stream, TrainingRanks ranks) : stream_(stream), ranks_(ranks) {}

  Stream& stream_;
  TrainingRanks ranks_;
  std::unique_ptr<Event> begin_, end_, idle_;
  Buffer barrier_;
};

/// Work to be queued again and again, as a graph if `replayed`.
class Repeated {
 public:
  static Result<Repeated> create(Stream& stream, bool replayed, std::function<Status()> queue) {
    Repeated made(stream, std::move(queue));
    if (!replayed) return made;
    TRY(stream.begin_capture());
    const Status queued = made.queue_();
    auto graph = stream.end_capture();  // also after an error
    TRY(queued);
    made.graph_ = TRY(std::move(graph));
    return made;
  }

  Status operator()() { return graph_ ? stream_.launch(*graph_) : queue_(); }

 private:
  Repeated(Stream& stream, std::function<Status()> queue)
      : stream_(stream), queue_(std::move(queue)) {}

  Stream& stream_;
  std::function<Status()> queue_;
  std::unique_ptr<Graph> graph_;
};

/// Of the larger of a rank's two buffers.
std::uint64_t bytes_of(const CollectiveCall& call, int ranks) {
  return elements_of(call.operation, call.count, ranks) * size_of(call.type);
}

/// The calls of a step without exchange, with their times.
Result<std::vector<StepCall>> record_step(Training& training, Device& device, Stream& stream,
                                          Stopwatch& stopwatch, bool replayed) {
  StepRecorder recorder(device, replayed);
  Repeated passes = TRY(Repeated::create(
      stream, replayed, [&] { return training.step_without_exchange(stream, &recorder); }));
  // The first replay warms up; without a graph the recorder has only one step.
  for (int i = 0; i < (replayed ? 2 : 1); ++i) TRY(stopwatch.time(std::ref(passes)));
  return recorder.calls();
}

/// Times each operation of the exchange alone, once per size, and a small one of its kind.
Result<ExchangeModel> measure_operations(const std::vector<CollectiveCall>& calls, Stream& stream,
                                         Stopwatch& stopwatch, Communicator& communicator) {
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

/// The less of two, of which `known` may be 0: none yet.
double least(double known, double one) {
  return known > 0 ? std::min(known, one) : one;
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
  constexpr int rounds = 7;  // of each kind, in turn, so that a drift touches all of them
  Stopwatch stopwatch = TRY(Stopwatch::create(device, stream, ranks));
  Repeated step = TRY(Repeated::create(stream, replayed, [&] { return training.step(stream); }));
  Repeated passes = TRY(
      Repeated::create(stream, replayed, [&] { return training.step_without_exchange(stream); }));
  Repeated alone =
      TRY(Repeated::create(stream, replayed, [&] { return training.exchange_alone(stream); }));
  ExchangeTimes times;
  for (const CollectiveCall& call : training.exchanged()) {
    times.bus_bytes += static_cast<double>(bytes_of(call, ranks.communicator->size())) *
                       bus_factor(call.operation, ranks.communicator->size());
  }
  std::vector<double> of_step, of_passes, of_alone, clocks;
  for (int i = -1; i < rounds; ++i) {
    const double with = TRY(stopwatch.time(std::ref(step)));
    const double without = TRY(stopwatch.time(std::ref(passes)));
    const auto clock = device.sense().clock_hz;
    const double only = TRY(stopwatch.time(std::ref(alone)));
    if (i < 0) continue;  // the first of each warms up
    of_step.push_back(with);
    of_passes.push_back(without);
    of_alone.push_back(only);
    if (clock) clocks.push_back(*clock);
  }
  times.step = median(of_step);
  times.passes = median(of_passes);
  times.alone = median(of_alone);
  if (!clocks.empty()) times.lowest_clock = times.highest_clock = median(clocks);
  return times;
}

Result<std::map<int, double>> simulate_steps(Training& training, Device& device, Stream& stream,
                                             TrainingRanks ranks, bool replayed,
                                             const std::vector<int>& numbers_of_ranks) {
  Stopwatch stopwatch = TRY(Stopwatch::create(device, stream, ranks));
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

std::string to_text(const ExchangeTimes& times) {
  std::string text;
  for (const double value :
       {times.step, times.passes, times.alone, times.bus_bytes, times.lowest_clock}) {
    put(text, std::bit_cast<std::uint64_t>(value));
  }
  return text;
}

Result<ExchangeTimes> of_all_ranks(const std::vector<std::string>& texts) {
  ExchangeTimes all;
  double fastest = 0;
  for (const std::string& text : texts) {
    if (text.empty()) continue;
    PayloadReader reader(text);
    const auto next = [&] { return std::bit_cast<double>(reader.number()); };
    const double step = next(), passes = next(), alone = next(), bus_bytes = next();
    const double clock = next();
    if (!reader.ok()) return Error{ErrorKind::failed, "a rank sent incomplete times of its steps"};
    // What waits for all ranks ends on all at once: the shortest time began last.
    all.step = least(all.step, step);
    all.alone = least(all.alone, alone);
    fastest = least(fastest, passes);
    all.passes = std::max(all.passes, passes);
    all.bus_bytes = std::max(all.bus_bytes, bus_bytes);
    all.highest_clock = std::max(all.highest_clock, clock);
    if (clock > 0) all.lowest_clock = least(all.lowest_clock, clock);
  }
  all.skew = fastest > 0 ? all.passes / fastest - 1 : 0;
  return all;
}

}  // namespace assay
