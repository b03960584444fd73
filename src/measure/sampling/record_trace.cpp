#include "measure/sampling/record_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "compute/device/helpers.h"
#include "compute/recording/timeline_recorder.h"
#include "compute/vendor/tracing/cupti_tracer.h"
#include "core/host_time.h"
#include "core/units.h"
#include "measure/grid/benchmark.h"
#include "measure/sampling/runner.h"
#include "ranks/collective/communicators.h"
#include "ranks/team/agreement.h"
#include "ranks/team/team_wait.h"
#include "statistics/summary.h"

namespace assay {
namespace {

constexpr std::size_t warm_up_steps = 3, least_untimed = 5;

/// The case on one device, with or without a recorder.
class Stepper {
 public:
  Stepper(const TraceRequest& request, Device& device, Team& team,
          const std::function<bool()>& stop_requested)
      : request_(request),
        device_(device),
        team_(team),
        stop_requested_(stop_requested),
        communicators_(device, team) {}

  Status prepare() {
    TRY(agree(team_, "starting", create()));
    const Benchmark& benchmark = *find_benchmark(request_.cell.benchmark());
    auto prepared = benchmark.prepare(
        request_.cell, {device_, *stream_, request_.seed, team_, communicators_, stop_requested_});
    TRY(agree(team_, "preparing " + request_.cell.id(),
              prepared.ok() ? Status() : Status(prepared.error())));
    work_ = std::move(*prepared);
    double seconds = 0;
    for (std::size_t i = 0; i < warm_up_steps; ++i) seconds = TRY(step(nullptr, i));
    return choose_launches(seconds);
  }

  /// Returns the seconds of a step, which `recorder` records if it is not null.
  Result<double> step(TimelineRecorder* recorder, std::size_t number) {
    if (stop_requested_()) return Error{ErrorKind::interrupted, "stopped"};
    TRY(team_.exchange("a step", ""));
    if (flush_.bytes() > 0) {
      TRY(stream_->fill(flush_.data(), 0x5A, flush_.bytes()));
      TRY(wait_idle(*stream_, *idle_, team_));
    }
    // What leads in may be a whole untimed step, or ranks that meet: it is no part of the step.
    if (recorder != nullptr) TRY(recorder->find_origin(*stream_));
    TRY(work_->lead_in(*stream_));
    if (recorder != nullptr) recorder->begin_step(fmt::format("ProfilerStep#{}", number));
    const bool by_events = work_->time_source() == TimeSource::device_events;
    const std::int64_t begin = host_time();
    std::int64_t queued = 0;
    TRY(in_range(recorder, "queue", [&]() -> Status {
      if (by_events) TRY(stream_->record(*start_));
      for (int i = 0; i < launches_; ++i) TRY(work_->enqueue(*stream_));
      if (by_events) TRY(stream_->record(*stop_));
      queued = host_time();
      return {};
    }));
    TRY(in_range(recorder, "wait", [&] { return wait_idle(*stream_, *idle_, team_); }));
    const std::int64_t end = host_time();
    if (recorder != nullptr) TRY(recorder->end_step());
    const bool of_queueing = work_->time_source() == TimeSource::enqueue_only;
    double seconds = static_cast<double>((of_queueing ? queued : end) - begin) * 1e-9;
    if (by_events) seconds = TRY(stop_->seconds_since(*start_));
    if (const auto own = TRY(work_->own_seconds())) seconds = *own;
    TRY(work_->after_sample());
    return seconds;
  }

 private:
  Status create() {
    stream_ = TRY(device_.create_stream());
    start_ = TRY(device_.create_event());
    stop_ = TRY(device_.create_event());
    idle_ = TRY(device_.create_event());
    return {};
  }

  /// Takes the number of launches of a run's sample, at most 20.
  Status choose_launches(double seconds) {
    constexpr int most = 20;
    const int own = std::clamp(work_->launches_per_sample(seconds), 1, most);
    const std::string agreed = TRY(team_.decide("choosing a step's launches", std::to_string(own),
                                                [](const auto& all) { return all.front(); }));
    launches_ = std::clamp(std::atoi(agreed.c_str()), 1, most);
    if (work_->cache_state() == CacheState::cold) {
      flush_ = TRY(device_.allocate(flushing_bytes(device_.facts()), MemoryKind::device));
    }
    return {};
  }

  template <typename Queue>
  static Status in_range(TimelineRecorder* recorder, std::string_view name, const Queue& queue) {
    const std::int64_t begin = host_time();
    TRY(queue());
    if (recorder != nullptr) recorder->add_range(name, begin, host_time());
    return {};
  }

  const TraceRequest& request_;
  Device& device_;
  Team& team_;
  const std::function<bool()>& stop_requested_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> start_, stop_, idle_;
  Buffer flush_;
  Communicators communicators_;
  std::unique_ptr<Case> work_;
  int launches_ = 1;
};

/// Returns null for events, which need no tracer. `why_not`: why the best source is not available.
Result<std::unique_ptr<ActivityTracer>> open_tracer(TraceSource source, const DeviceFacts& facts,
                                                    std::string& why_not) {
  if (source == TraceSource::events) return std::unique_ptr<ActivityTracer>();
  if (source == TraceSource::best) {
    if (!facts.is_nvidia()) return std::unique_ptr<ActivityTracer>();
    auto opened = open_cupti_tracer();
    if (opened.ok()) return opened;
    why_not = opened.error().message;
    return std::unique_ptr<ActivityTracer>();
  }
  if (!facts.is_nvidia()) {
    return Error{ErrorKind::unsupported,
                 fmt::format("CUPTI traces NVIDIA GPUs, and this device is {}; leave --recorder "
                             "cupti out",
                             facts.name)};
  }
  return open_cupti_tracer();
}

/// Returns the time since 1970 at the host clock's time 0, from the narrowest of several looks.
std::int64_t epoch_of_host() {
  constexpr int tries = 20;
  std::int64_t narrowest = INT64_MAX, epoch = 0;
  for (int i = 0; i < tries; ++i) {
    const std::int64_t before = host_time();
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::int64_t after = host_time();
    if (after - before >= narrowest) continue;
    narrowest = after - before;
    epoch = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() -
            (before + narrowest / 2);
  }
  return epoch;
}

void add_counters(const TelemetryTrace& telemetry, std::int64_t begin, Timeline& timeline) {
  for (std::size_t i = 0; i < telemetry.channels.size(); ++i) {
    const Channel& channel = telemetry.channels[i];
    if (channel.kind != ChannelKind::gauge) continue;
    TraceCounter counter{channel.name(), channel.unit, {}};
    for (std::size_t tick = 0; tick < telemetry.seconds.size(); ++tick) {
      const double value = telemetry.values[i][tick];
      if (!std::isfinite(value)) continue;
      counter.values.emplace_back(begin + std::llround(telemetry.seconds[tick] * 1e9), value);
    }
    if (!counter.values.empty()) timeline.counters.push_back(std::move(counter));
  }
}

}  // namespace

Result<RecordedTrace> record_trace(const TraceRequest& request, Device& device, Team& team,
                                   const std::function<bool()>& stop_requested) {
  const Benchmark* const benchmark = find_benchmark(request.cell.benchmark());
  if (benchmark == nullptr) {
    return Error{ErrorKind::usage,
                 fmt::format("there is no benchmark {}", request.cell.benchmark())};
  }
  const auto reason = benchmark->unsupported(request.cell, device);
  TRY(agree(team, "checking " + request.cell.id(),
            reason ? Status(Error{ErrorKind::unsupported, *reason}) : Status()));
  RecordedTrace trace;
  {
    Stepper plain(request, device, team, stop_requested);
    TRY(plain.prepare());
    const std::size_t steps = std::max(request.steps, least_untimed);
    for (std::size_t i = 0; i < steps; ++i) trace.unrecorded.push_back(TRY(plain.step(nullptr, i)));
  }
  // All ranks have freed their communicators before any of them queues work that waits for others.
  TRY(team.exchange("beginning to record", ""));
  const DeviceFacts& facts = device.facts();
  const int number = team.size() > 1 ? team.rank() : facts.ordinal;
  // Opened after the steps that show what recording costs.
  std::string why_not;
  const auto tracer = open_tracer(request.source, facts, why_not);
  TRY(agree(team, "opening the tracer", tracer.ok() ? Status() : Status(tracer.error())));
  TimelineRecorder recorder(device, std::to_string(number), tracer->get());
  const std::unique_ptr<Device> recorded = recorded_device(device, recorder);
  {
    // Its thread must not inherit the place of this one, which preparing a launch may fix.
    const auto telemetry = start_telemetry(facts, request.telemetry_interval);
    Stepper steps(request, *recorded, team, stop_requested);
    TRY(steps.prepare());
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < request.steps; ++i) {
      trace.recorded.push_back(TRY(steps.step(&recorder, i + 1)));
      trace.on_device.push_back(recorder.device_seconds());
    }
    trace.timeline = recorder.take();
    if (telemetry != nullptr) {
      add_counters(
          telemetry->slice(begin, std::chrono::steady_clock::now()),
          std::chrono::duration_cast<std::chrono::nanoseconds>(begin.time_since_epoch()).count(),
          trace.timeline);
    }
  }
  TRY(team.exchange("ending the recording", ""));
  Timeline& timeline = trace.timeline;
  timeline.epoch = epoch_of_host();
  timeline.rank = team.rank();
  timeline.world_size = team.size();
  timeline.file = request.cell.id();
  const double without = median(trace.unrecorded), with = median(trace.recorded);
  const std::string source =
      *tracer == nullptr
          ? "assay's own events: times are those between an operation's two events, without the "
            "kernels inside it"
          : fmt::format(
                "{}: times are those of each kernel; one that begins before the one before "
                "it on its stream ends is shown from there on",
                (*tracer)->name());
  timeline.note(fmt::format(
      "recorded by {}; a step takes {} without recording and {} with it ({:+.1f}%), and the device "
      "{} from its first operation to its last",
      source, format_seconds(without), format_seconds(with),
      without > 0 ? 100 * (with / without - 1) : 0.0, format_seconds(median(trace.on_device))));
  if (!why_not.empty()) timeline.note("the tracing library is not used: " + why_not);
  timeline.note("the cell is " + request.cell.id());
  if (facts.emulated) timeline.note("the device is emulated, so its times are a model's");
  return trace;
}

}  // namespace assay
