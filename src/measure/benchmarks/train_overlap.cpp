#include "measure/benchmarks/train_overlap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>

#include "compute/device/helpers.h"
#include "statistics/summary.h"

namespace assay {
namespace {

/// Medians of the times of runs of the same calls.
std::vector<double> medians(const std::vector<std::vector<StepCall>>& runs) {
  std::vector<double> all;
  for (std::size_t i = 0; i < runs.front().size(); ++i) {
    std::vector<double> seconds;
    for (const auto& run : runs) seconds.push_back(run[i].seconds);
    all.push_back(median(seconds));
  }
  return all;
}

/// Seconds of all calls up to the update.
double seconds_of_passes(const std::vector<StepCall>& calls) {
  double seconds = 0;
  for (const StepCall& call : calls) {
    seconds += call.seconds;
    if (call.kind == StepCall::Kind::finish) break;
  }
  return seconds;
}

/// Where the larger of a rank's two buffers is.
const void* larger_buffer(const CollectiveCall& call) {
  return call.operation == CollectiveOperation::all_gather ? call.receive : call.send;
}

/// One operation, over and over on a stream of its own.
class RepeatedCall {
 public:
  /// Out of place, from the values that the call's larger buffer has after what is queued on
  /// `stream`: moving zeros, or sums of sums, which would soon be infinite, would take less power.
  /// `replayed`: as graphs.
  static Result<RepeatedCall> create(Device& device, Stream& stream, Communicator& communicator,
                                     const CollectiveCall& call, bool replayed) {
    RepeatedCall made(communicator, call, replayed);
    const std::size_t bytes = bytes_of(call, communicator.size());
    made.stream_ = TRY(device.create_stream(StreamPriority::high));  // as that of an exchange
    made.ready_ = TRY(device.create_event(EventKind::untimed));
    TRY(stream.record(*made.ready_));
    TRY(made.stream_->wait(*made.ready_));
    for (Buffer* const buffer : {&made.send_, &made.receive_}) {
      *buffer = TRY(device.allocate(bytes, MemoryKind::device));
      TRY(made.stream_->copy(buffer->data(), larger_buffer(call), bytes));
    }
    TRY(made.stream_->synchronize());
    made.call_.send = made.send_.data();
    made.call_.receive = made.receive_.data();
    return made;
  }

  /// How often from now on: in so many launches, each of so many operations.
  Status set_launches(Device& device, std::size_t launches, std::size_t together) {
    together_ = together;
    const auto queue = [&communicator = communicator_, call = call_, &on = *stream_,
                        together]() -> Status {
      for (std::size_t i = 0; i < together; ++i) TRY(communicator.enqueue(call, on));
      return {};
    };
    launch_.emplace(TRY(RepeatedWork::create(*stream_, replayed_, queue)));
    while (ends_.size() > launches + 1) ends_.pop_back();
    while (ends_.size() < launches + 1) ends_.push_back(TRY(device.create_event()));
    return {};
  }

  /// Queues all of them after what is queued on `stream`, then what shall go on beside them there;
  /// its later work waits for both. All of them come first, because the host may be busy for as
  /// long as that goes on, be it with single launches or with one of a graph of thousands.
  Status queue(Stream& stream, const std::function<Status()>& beside) {
    TRY(stream.record(*ready_));
    TRY(stream_->wait(*ready_));
    TRY(stream_->record(*ends_.front()));
    for (std::size_t i = 1; i < ends_.size(); ++i) {
      TRY((*launch_)());
      TRY(stream_->record(*ends_[i]));
    }
    TRY(beside());
    return stream.wait(*ends_.back());
  }

  std::size_t times() const { return (ends_.size() - 1) * together_; }
  /// When the first one begins.
  const Event& begin() const { return *ends_.front(); }
  /// Operations in a launch.
  std::size_t together() const { return together_; }
  /// When the first launch of the last run began, and when each ended, in s since begin().
  Result<std::vector<double>> ends() const {
    std::vector<double> seconds;
    for (const auto& end : ends_) seconds.push_back(TRY(end->seconds_since(begin())));
    return seconds;
  }

 private:
  RepeatedCall(Communicator& communicator, const CollectiveCall& call, bool replayed)
      : communicator_(communicator), call_(call), replayed_(replayed) {}

  Communicator& communicator_;
  CollectiveCall call_;
  bool replayed_;
  std::size_t together_ = 1;  // in a launch
  Buffer send_, receive_;
  std::unique_ptr<Stream> stream_;
  std::optional<RepeatedWork> launch_;
  std::unique_ptr<Event> ready_;
  std::vector<std::unique_ptr<Event>> ends_;  // of launches; the first when they begin
};

/// Of the operation alone, so many of them in a launch, the mean over all ranks, so that all have
/// the same.
Result<double> seconds_of_one(RepeatedCall& repeated, Device& device, Stream& stream,
                              RankStopwatch& stopwatch, int ranks, std::size_t together) {
  constexpr int rounds = 3, in_a_row = 8;
  TRY(repeated.set_launches(device, in_a_row, together));
  std::vector<double> seconds;
  for (int i = -1; i < rounds; ++i) {  // the first one warms up
    TRY(stopwatch.time([&] { return repeated.queue(stream, [] { return Status(); }); }));
    if (i < 0) continue;
    seconds.push_back(TRY(repeated.ends()).back() / static_cast<double>(repeated.times()));
  }
  const float all = TRY(stopwatch.sum(static_cast<float>(median(seconds))));
  return static_cast<double>(all) / ranks;
}

/// Has it go on for as long as repetitions() says, in few launches if they are replayed: the host
/// waits once a stream has about a thousand commands, and a launch of a graph is several. Returns
/// the seconds of one operation, alone, in such launches.
Result<double> make_long(RepeatedCall& repeated, Device& device, Stream& stream,
                         RankStopwatch& stopwatch, int ranks, bool replayed, double passes) {
  constexpr std::size_t most_launches = 32;
  double operation = TRY(seconds_of_one(repeated, device, stream, stopwatch, ranks, 1));
  const std::size_t times = repetitions(operation, passes);
  const std::size_t together = replayed ? (times + most_launches - 1) / most_launches : 1;
  if (together > 1) {
    operation = TRY(seconds_of_one(repeated, device, stream, stopwatch, ranks, together));
  }
  TRY(repeated.set_launches(device, (times + together - 1) / together, together));
  return operation;
}

}  // namespace

CollectiveCall repeated_call(const std::vector<CollectiveCall>& exchanged,
                             const ExchangeTimes& times, int ranks) {
  constexpr double parts = 16;
  std::map<std::pair<CollectiveOperation, std::uint64_t>, double> moved;  // by all that are alike
  const auto moved_by_all_like = [&](const CollectiveCall& one) -> double& {
    return moved[{one.operation, bytes_of(one, ranks)}];
  };
  for (const CollectiveCall& one : exchanged) {
    moved_by_all_like(one) +=
        static_cast<double>(bytes_of(one, ranks)) * bus_factor(one.operation, ranks);
  }
  CollectiveCall call = *std::ranges::max_element(exchanged, {}, moved_by_all_like);
  const double bandwidth = times.alone > 0 ? times.bus_bytes / times.alone : 0;
  const double bytes = times.passes / parts * bandwidth / bus_factor(call.operation, ranks);
  const double share = bytes / static_cast<double>(bytes_of(call, ranks));
  if (share < 1) {
    call.count =
        std::max<std::size_t>(1, static_cast<std::size_t>(share * static_cast<double>(call.count)));
  }
  return call;
}

std::size_t repetitions(double seconds, double passes) {
  constexpr double times_passes = 2, fewest = 4, most = 4096;
  const double needed = seconds > 0 ? std::ceil(times_passes * passes / seconds) : fewest;
  return static_cast<std::size_t>(std::clamp(needed, fewest, most));
}

TrainOverlap overlap_of(const std::vector<std::vector<StepCall>>& alone,
                        const std::vector<std::vector<StepCall>>& beside) {
  TrainOverlap overlap;
  overlap.calls = alone.front();
  const std::vector<double> without = medians(alone);
  for (std::size_t i = 0; i < overlap.calls.size(); ++i) overlap.calls[i].seconds = without[i];
  overlap.calibrated = !beside.empty();
  if (beside.empty()) return overlap;
  const std::vector<double> with = medians(beside);
  std::vector<StepCall> slow = overlap.calls;
  for (std::size_t i = 0; i < overlap.calls.size(); ++i) {
    slow[i].seconds = with[i];
    if (without[i] > 0) overlap.calls[i].slowed = with[i] / without[i];
  }
  const double fast_passes = seconds_of_passes(overlap.calls);
  if (fast_passes > 0) overlap.slower_passes = seconds_of_passes(slow) / fast_passes;
  return overlap;
}

void spread_over(std::vector<StepCall>& calls, double seconds) {
  double before = 0;
  for (const StepCall& call : calls) before += call.seconds;
  if (before <= 0 || seconds <= 0) return;
  for (StepCall& call : calls) call.seconds *= seconds / before;
}

std::optional<double> seconds_between(const std::vector<double>& ends, double from, double to) {
  const auto first = std::ranges::lower_bound(ends, from);
  auto last = std::ranges::upper_bound(ends, to);
  if (last - first < 2) return std::nullopt;
  return (*std::prev(last) - *first) / static_cast<double>(last - first - 1);
}

Result<TrainOverlap> measure_overlap(Training& training, Device& device, Stream& stream,
                                     TrainingRanks ranks, bool replayed, const ExchangeTimes& times,
                                     const std::vector<CollectiveCall>& exchanged) {
  constexpr int rounds = 5;  // of each kind, in turn, so that both meet the same clocks
  const int size = ranks.communicator->size();
  RankStopwatch stopwatch = TRY(RankStopwatch::create(device, stream, ranks));
  std::optional<StepRecorder> recorder;  // of the last run; of a graph, the only one
  RepeatedWork passes = TRY(RepeatedWork::create(stream, replayed, [&] {
    recorder.emplace(device, replayed);
    return training.step_without_exchange(stream, &*recorder);
  }));
  // Before each run that counts, so that it meets the clocks and the power of a step.
  const auto warm_up = [&] { return replayed ? passes() : training.step_without_exchange(stream); };
  // A rank that has no memory for the operation says so, before the others wait for it in one.
  auto made = RepeatedCall::create(device, stream, *ranks.communicator,
                                   repeated_call(exchanged, times, size), replayed);
  const bool repeats = TRY(stopwatch.sum(made.ok() ? 0.0f : 1.0f)) == 0;
  double operation = 0;
  if (repeats) {
    operation = TRY(make_long(*made, device, stream, stopwatch, size, replayed, times.passes));
  }
  std::vector<std::vector<StepCall>> alone, beside;
  std::vector<double> inside;  // seconds of an operation beside passes
  int uncovered = 0;
  for (int i = -1; i < rounds; ++i) {
    TRY(stopwatch.time([&]() -> Status {
      TRY(warm_up());
      return passes();
    }));
    if (i >= 0) alone.push_back(TRY(recorder->calls()));  // the first round warms up
    if (!repeats) continue;
    TRY(stopwatch.time([&]() -> Status {
      TRY(warm_up());
      return made->queue(stream, std::ref(passes));
    }));
    if (i < 0) continue;
    std::vector<StepCall> slow = TRY(recorder->calls());
    const double begin = TRY(recorder->begun_after(made->begin()));
    const double end = begin + seconds_of_passes(slow);
    const std::vector<double> ends = TRY(made->ends());
    if (ends.back() < end) ++uncovered;
    if (const auto one = seconds_between(ends, begin, end)) {
      inside.push_back(*one / static_cast<double>(made->together()));
    }
    beside.push_back(std::move(slow));
  }
  if (uncovered > 0) {  // those that are covered would be the runs with the shortest passes
    beside.clear();
    inside.clear();
  }
  const bool too_few = !beside.empty() && inside.empty();
  if (too_few) beside.clear();
  TrainOverlap overlap = overlap_of(alone, beside);
  if (too_few) {
    overlap.why_not = fmt::format(
        "fewer than two of {} launches of {} operations between ranks ended beside the passes",
        made->times() / made->together(), made->together());
  } else if (!made.ok()) {
    overlap.why_not = made.error().message;
  } else if (uncovered > 0) {
    overlap.why_not = fmt::format(
        "passes not covered: {} operations between ranks ended before them in {} of {} runs",
        made->times(), uncovered, rounds);
  }
  if (!inside.empty() && operation > 0) overlap.slower_exchange = median(inside) / operation;
  return overlap;
}

}  // namespace assay
