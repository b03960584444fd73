#include "measure/benchmarks/train/overlap_cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>

#include "compute/device/helpers.h"
#include "core/units.h"
#include "statistics/summary.h"

namespace assay {
namespace {

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
    while (ends_.size() > launches + 1) ends_.pop_back();
    while (ends_.size() < launches + 1) ends_.push_back(TRY(device.create_event()));
    if (launch_ && together == together_) return {};
    const auto queue = [&communicator = communicator_, call = call_, &on = *stream_,
                        together]() -> Status {
      for (std::size_t i = 0; i < together; ++i) TRY(communicator.enqueue(call, on));
      return {};
    };
    launch_.emplace(TRY(RepeatedWork::create(*stream_, replayed_, queue)));
    together_ = together;
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

/// In how many launches of `together` operations they repeat, beside passes of so many seconds.
std::size_t launches_for(double operation, double passes, std::size_t together) {
  return (repetitions(operation, passes) + together - 1) / together;
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
  TRY(repeated.set_launches(device, launches_for(operation, passes, together), together));
  return operation;
}

/// What passes and an operation that repeats took beside each other.
struct RunsBeside {
  CollectiveOperation operation = CollectiveOperation::all_reduce;
  std::vector<std::vector<StepCall>> alone;   // by run
  std::vector<std::vector<StepCall>> passes;  // by run; none: it was not beside all of each
  std::vector<double> seconds;                // of an operation, by run
  double seconds_alone = 0;                   // of an operation
  std::string why_not;
};

/// Passes of a step without its exchange, alone and beside one operation that repeats.
class PassesBeside {
 public:
  static Result<std::unique_ptr<PassesBeside>> create(Training& training, Device& device,
                                                      Stream& stream, TrainingRanks ranks,
                                                      bool replayed) {
    RankStopwatch stopwatch = TRY(RankStopwatch::create(device, stream, ranks));
    std::unique_ptr<PassesBeside> made(
        new PassesBeside(training, device, stream, ranks, replayed, std::move(stopwatch)));
    made->passes_.emplace(TRY(RepeatedWork::create(stream, replayed, [&made = *made] {
      made.recorder_.emplace(made.device_, made.replayed_);
      return made.training_.step_without_exchange(made.stream_, &*made.recorder_);
    })));
    return made;
  }

  /// Runs them alone and beside the operation in turn, so that both meet the same clocks.
  Result<RunsBeside> beside(const CollectiveCall& call, double seconds_of_passes);

 private:
  PassesBeside(Training& training, Device& device, Stream& stream, TrainingRanks ranks,
               bool replayed, RankStopwatch stopwatch)
      : training_(training),
        device_(device),
        stream_(stream),
        ranks_(ranks),
        replayed_(replayed),
        stopwatch_(std::move(stopwatch)) {}

  /// Notes how both were beside each other in the last run.
  Status note_beside(const RepeatedCall& repeated, RunsBeside& runs);
  /// Passes that do not count, before each run, so that it meets the clocks and the power of a
  /// step.
  Status warm_up() { return replayed_ ? (*passes_)() : training_.step_without_exchange(stream_); }

  Training& training_;
  Device& device_;
  Stream& stream_;
  const TrainingRanks ranks_;
  const bool replayed_;
  RankStopwatch stopwatch_;
  std::optional<StepRecorder> recorder_;  // of the last run; of a graph, the only one
  std::optional<RepeatedWork> passes_;
};

Result<RunsBeside> PassesBeside::beside(const CollectiveCall& call, double seconds_of_passes) {
  constexpr int rounds = 5;  // of each
  const int size = ranks_.communicator->size();
  RunsBeside runs;
  runs.operation = call.operation;
  // A rank that has no memory for the operation says so, before the others wait for it in one.
  auto made = RepeatedCall::create(device_, stream_, *ranks_.communicator, call, replayed_);
  const bool repeats = TRY(stopwatch_.sum(made.ok() ? 0.0f : 1.0f)) == 0;
  if (!made.ok()) runs.why_not = made.error().message;
  if (repeats) {
    runs.seconds_alone =
        TRY(make_long(*made, device_, stream_, stopwatch_, size, replayed_, seconds_of_passes));
  }
  for (int i = -1; i < rounds; ++i) {  // the first round warms up
    TRY(stopwatch_.time(std::ref(*passes_), [&] { return warm_up(); }));
    if (i >= 0) runs.alone.push_back(TRY(recorder_->calls()));
    if (!repeats) continue;
    TRY(stopwatch_.time([&] { return made->queue(stream_, std::ref(*passes_)); },
                        [&] { return warm_up(); }));
    if (i >= 0) {
      TRY(note_beside(*made, runs));
      continue;
    }
    // The operations begin before the passes by what the host needs to launch both.
    const auto begun = static_cast<float>(TRY(recorder_->begun_after(made->begin())));
    const double late = std::max(0.0f, TRY(stopwatch_.sum(begun))) / static_cast<double>(size);
    TRY(made->set_launches(
        device_, launches_for(runs.seconds_alone, seconds_of_passes + late, made->together()),
        made->together()));
  }
  if (repeats && runs.seconds.empty() && runs.why_not.empty()) {
    runs.why_not = fmt::format(
        "fewer than two of {} launches of {} operations between ranks ended beside the passes",
        made->times() / made->together(), made->together());
  }
  if (!runs.why_not.empty()) runs.passes.clear();
  return runs;
}

Status PassesBeside::note_beside(const RepeatedCall& repeated, RunsBeside& runs) {
  std::vector<StepCall> slow = TRY(recorder_->calls());
  const double begin = TRY(recorder_->begun_after(repeated.begin()));
  const double end = begin + seconds_of_passes(slow);
  const std::vector<double> ends = TRY(repeated.ends());
  if (ends.back() < end) {
    runs.why_not = fmt::format(
        "passes not covered: {} operations between ranks ended before them, {} after their "
        "beginning, and the passes, which began {} after it, after {}",
        repeated.times(), format_seconds(ends.back()), format_seconds(begin), format_seconds(end));
  }
  if (const auto one = seconds_between(ends, begin, end)) {
    runs.seconds.push_back(*one / static_cast<double>(repeated.together()));
  }
  runs.passes.push_back(std::move(slow));
  return {};
}

}  // namespace

std::vector<CollectiveCall> repeated_calls(const std::vector<CollectiveCall>& exchanged,
                                           const ExchangeTimes& times, int ranks) {
  constexpr double least_share = 0.1, parts = 16;
  const auto moved_by = [ranks](const CollectiveCall& one) {
    return static_cast<double>(bytes_of(one, ranks)) * bus_factor(one.operation, ranks);
  };
  std::map<CollectiveOperation, double> by_kind;
  std::map<std::pair<CollectiveOperation, std::uint64_t>, double> by_all_alike;
  double by_all = 0;
  for (const CollectiveCall& one : exchanged) {
    by_kind[one.operation] += moved_by(one);
    by_all_alike[{one.operation, bytes_of(one, ranks)}] += moved_by(one);
    by_all += moved_by(one);
  }
  const double bandwidth = times.alone > 0 ? times.bus_bytes / times.alone : 0;
  std::vector<CollectiveCall> calls;
  for (const auto& [operation, moved] : by_kind) {
    if (moved < least_share * by_all) continue;
    const CollectiveCall* most = nullptr;
    for (const CollectiveCall& one : exchanged) {
      const auto all_alike = [&](const CollectiveCall& call) {
        return by_all_alike[{call.operation, bytes_of(call, ranks)}];
      };
      if (one.operation != operation) continue;
      if (most == nullptr || all_alike(one) > all_alike(*most)) most = &one;
    }
    CollectiveCall call = *most;
    const double bytes = times.passes / parts * bandwidth / bus_factor(operation, ranks);
    const double share = bytes / static_cast<double>(bytes_of(call, ranks));
    if (share < 1) {
      const double count = share * static_cast<double>(call.count);
      call.count = std::max<std::size_t>(1, static_cast<std::size_t>(count));
    }
    calls.push_back(call);
  }
  std::ranges::sort(calls, std::greater(),
                    [&](const CollectiveCall& call) { return by_kind[call.operation]; });
  return calls;
}

std::size_t repetitions(double seconds, double passes) {
  constexpr double times_passes = 2, fewest = 4, most = 16384;
  const double needed = seconds > 0 ? std::ceil(times_passes * passes / seconds) : fewest;
  return static_cast<std::size_t>(std::clamp(needed, fewest, most));
}

std::vector<StepCall> medians_of(const std::vector<std::vector<StepCall>>& runs) {
  std::vector<StepCall> calls = runs.front();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    std::vector<double> seconds;
    for (const auto& run : runs) seconds.push_back(run[i].seconds);
    calls[i].seconds = median(seconds);
  }
  return calls;
}

double set_slowed(std::vector<StepCall>& calls, CollectiveOperation operation,
                  const std::vector<std::vector<StepCall>>& alone,
                  const std::vector<std::vector<StepCall>>& beside) {
  const std::vector<StepCall> fast = medians_of(alone), slow = medians_of(beside);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (fast[i].seconds > 0) calls[i].slowed[operation] = slow[i].seconds / fast[i].seconds;
  }
  const double all = seconds_of_passes(fast);
  return all > 0 ? seconds_of_passes(slow) / all : 1;
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
  auto runs = TRY(PassesBeside::create(training, device, stream, ranks, replayed));
  std::vector<RunsBeside> all;
  TrainOverlap overlap;
  for (const CollectiveCall& call : repeated_calls(exchanged, times, ranks.communicator->size())) {
    RunsBeside kind = TRY(runs->beside(call, times.passes));
    if (overlap.why_not.empty()) overlap.why_not = kind.why_not;
    all.push_back(std::move(kind));
  }
  std::vector<std::vector<StepCall>> alone;
  for (const RunsBeside& kind : all)
    alone.insert(alone.end(), kind.alone.begin(), kind.alone.end());
  overlap.calls = medians_of(alone);
  if (std::ranges::any_of(all, [](const RunsBeside& kind) { return kind.passes.empty(); })) {
    return overlap;
  }
  for (const RunsBeside& kind : all) {
    overlap.kinds.push_back(
        {.operation = kind.operation,
         .passes = set_slowed(overlap.calls, kind.operation, kind.alone, kind.passes),
         .exchange = kind.seconds_alone > 0 ? median(kind.seconds) / kind.seconds_alone : 1});
  }
  return overlap;
}

}  // namespace assay
