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

/// The total seconds of all calls up to the update.
double seconds_of_passes(const std::vector<StepCall>& calls) {
  double seconds = 0;
  for (const StepCall& call : calls) {
    seconds += call.seconds;
    if (call.kind == StepCall::Kind::finish) break;
  }
  return seconds;
}

/// The larger of a rank's two buffers.
const void* larger_buffer(const CollectiveCall& call) {
  return call.operation == CollectiveOperation::all_gather ? call.receive : call.send;
}

/// One collective that repeats on its own stream.
class RepeatedCall {
 public:
  /// Runs out of place on a copy of the call's larger buffer, taken after the work queued on
  /// `stream`. Zeros, or sums of sums that soon become infinite, would take less power than real
  /// values. `replayed`: launches are replayed as graphs.
  static Result<RepeatedCall> create(Device& device, Stream& stream, Communicator& communicator,
                                     const CollectiveCall& call, bool replayed) {
    RepeatedCall made(communicator, call, replayed);
    const std::size_t bytes = bytes_of(call, communicator.size());
    // as training does
    made.stream_ = TRY(device.create_stream(StreamPriority::high));
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

  /// Sets how often the collective repeats: `launches` launches of `together` operations each.
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

  /// Queues all repetitions after the work already on `stream`, then queues `beside` on `stream`,
  /// to run at the same time; later work on `stream` waits for both. The repetitions are queued
  /// first because the host may be busy for as long as `beside` runs, whether it launches single
  /// kernels or a graph of thousands.
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
  /// The event at which the first operation begins.
  const Event& begin() const { return *ends_.front(); }
  /// The number of operations in one launch.
  std::size_t together() const { return together_; }
  /// Seconds since begin() at which the first launch of the last run began and at which each launch
  /// ended.
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
  std::size_t together_ = 1;  // operations in one launch
  Buffer send_, receive_;
  std::unique_ptr<Stream> stream_;
  std::optional<RepeatedWork> launch_;
  std::unique_ptr<Event> ready_;
  std::vector<std::unique_ptr<Event>> ends_;  // begin of the first, end of each launch
};

/// Seconds of one operation running alone, with `together` operations in a launch; averaged over
/// all ranks, so that all ranks get the same value.
Result<double> seconds_of_one(RepeatedCall& repeated, Device& device, Stream& stream,
                              RankStopwatch& stopwatch, int ranks, std::size_t together) {
  constexpr int rounds = 3, in_a_row = 8;
  TRY(repeated.set_launches(device, in_a_row, together));
  std::vector<double> seconds;
  for (int i = -1; i < rounds; ++i) {  // the first run is the warm-up
    TRY(stopwatch.time([&] { return repeated.queue(stream, [] { return Status(); }); }));
    if (i < 0) continue;
    seconds.push_back(TRY(repeated.ends()).back() / static_cast<double>(repeated.times()));
  }
  const float all = TRY(stopwatch.sum(static_cast<float>(median(seconds))));
  return static_cast<double>(all) / ranks;
}

/// The number of launches, of `together` operations each, to run next to passes that take `passes`
/// seconds; `operation` is the time of one.
std::size_t launches_for(double operation, double passes, std::size_t together) {
  return (repetitions(operation, passes) + together - 1) / together;
}

/// Makes the collective repeat as often as repetitions() says. Graphs are launched few times,
/// because the host blocks once a stream has about a thousand commands, and launching a graph
/// counts as several. Returns the seconds of one operation alone, in such launches.
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

/// Times of passes and of a repeated collective that ran at the same time.
struct RunsBeside {
  CollectiveOperation operation = CollectiveOperation::all_reduce;
  std::vector<std::vector<StepCall>> alone;   // calls of each run
  std::vector<std::vector<StepCall>> passes;  // calls of each run; empty if not covered
  std::vector<double> seconds;                // seconds of one operation, by run
  double seconds_alone = 0;                   // seconds of one operation
  std::string why_not;
};

/// Runs the passes of a step without communication, alone and next to one repeated collective.
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

  /// Alternates between passes alone and passes next to `call`, so that both run at the same
  /// clocks.
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

  /// Adds the times of the last run to `runs`, and why it does not count if the collective ended
  /// too early.
  Status note_beside(const RepeatedCall& repeated, RunsBeside& runs);
  /// Untimed passes before each run, so that it runs at the clocks and the power of a step.
  Status warm_up() { return replayed_ ? (*passes_)() : training_.step_without_exchange(stream_); }

  Training& training_;
  Device& device_;
  Stream& stream_;
  const TrainingRanks ranks_;
  const bool replayed_;
  RankStopwatch stopwatch_;
  std::optional<StepRecorder> recorder_;  // a graph has only one recorder
  std::optional<RepeatedWork> passes_;
};

Result<RunsBeside> PassesBeside::beside(const CollectiveCall& call, double seconds_of_passes) {
  constexpr int rounds = 5;  // runs of each kind
  const int size = ranks_.communicator->size();
  RunsBeside runs;
  runs.operation = call.operation;
  // A rank without memory for the collective reports it here, before the others would wait for it
  // in the collective.
  auto made = RepeatedCall::create(device_, stream_, *ranks_.communicator, call, replayed_);
  const bool repeats = TRY(stopwatch_.sum(made.ok() ? 0.0f : 1.0f)) == 0;
  if (!made.ok()) runs.why_not = made.error().message;
  if (repeats) {
    runs.seconds_alone =
        TRY(make_long(*made, device_, stream_, stopwatch_, size, replayed_, seconds_of_passes));
  }
  for (int i = -1; i < rounds; ++i) {  // the first round is the warm-up
    TRY(stopwatch_.time(std::ref(*passes_), [&] { return warm_up(); }));
    if (i >= 0) runs.alone.push_back(TRY(recorder_->calls()));
    if (!repeats) continue;
    TRY(stopwatch_.time([&] { return made->queue(stream_, std::ref(*passes_)); },
                        [&] { return warm_up(); }));
    if (i >= 0) {
      TRY(note_beside(*made, runs));
      continue;
    }
    // The collectives begin earlier than the passes, by the time that the host takes to launch
    // both.
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
