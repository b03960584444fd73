#include "measure/sampler.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "measure/clock_probe.h"
#include "measure/gate.h"
#include "measure/stopping_rule.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A sample counts as throttled below this share of the highest clock the driver names.
constexpr double throttle_share = 0.9;

class DeviceSampler final : public Sampler {
 public:
  DeviceSampler(Device& device, std::unique_ptr<Stream> stream, std::unique_ptr<Event> start,
                std::unique_ptr<Event> stop, Gate gate, ClockProbe probe)
      : device_(device),
        stream_(std::move(stream)),
        start_(std::move(start)),
        stop_(std::move(stop)),
        gate_(std::move(gate)),
        probe_(std::move(probe)) {}

  Stream& stream() override { return *stream_; }

  Result<SampleSet> take(Case& work, const SamplingLimits& limits,
                         const std::function<bool()>& stop_requested) override {
    SampleSet set;
    set.time_source = work.time_source();
    set.cache_state = work.cache_state();
    set.gated = set.time_source == TimeSource::device_events && work.fits_behind_gate();
    if (set.cache_state == CacheState::cold) TRY(prepare_flush());
    const auto begin = Clock::now();
    TRY(warm_up(work, limits, stop_requested, set));
    set.before = device_.sense();
    if (set.warmup_stop == StopReason::interrupted) {
      set.stop = StopReason::interrupted;
    } else {
      TRY(repeat(work, prepare_pace(work, limits, set), stop_requested, set));
    }
    set.after = device_.sense();
    set.wall_seconds = seconds_since(begin);
    return set;
  }

 private:
  Status warm_up(Case& work, const SamplingLimits& limits,
                 const std::function<bool()>& stop_requested, SampleSet& set) {
    WarmupRule rule(limits);
    const bool gated = std::exchange(set.gated, false);
    const auto begin = Clock::now();
    for (std::optional<StopReason> stop; !stop;) {
      last_warm_up_ = TRY(take_one(work, set));
      ++set.warmup_launches;
      set.gated = gated;  // the first launch may load code, which waits for an idle device
      stop = stop_requested() ? StopReason::interrupted
                              : rule.after(last_warm_up_.seconds, seconds_since(begin));
      if (stop) set.warmup_stop = *stop;
    }
    return {};
  }

  /// What the last launch of the warm-up says about how to sample compute-bound work: its limits,
  /// and how many launches make a sample long enough.
  SamplingLimits prepare_pace(Case& work, const SamplingLimits& limits, SampleSet& set) const {
    if (work.limit() != Limit::compute) return limits;
    const SamplingLimits pace = sustained(limits, last_warm_up_.throttled);
    const double seconds = last_warm_up_.seconds * work.work().repetitions;
    constexpr double most = 1000;
    if (set.time_source == TimeSource::device_events && seconds > 0) {
      set.launches =
          static_cast<int>(std::clamp(std::ceil(pace.least_sample_seconds / seconds), 1.0, most));
    }
    if (set.launches > 1) set.gated = false;  // they would not fit, and the start hardly counts
    return pace;
  }

  Status repeat(Case& work, const SamplingLimits& limits,
                const std::function<bool()>& stop_requested, SampleSet& set) {
    StoppingRule rule(limits);
    set.begin = Clock::now();
    for (std::optional<StopReason> stop; !stop;) {
      set.samples.push_back(TRY(take_one(work, set)));
      stop = stop_requested() ? StopReason::interrupted
                              : rule.after(set.samples.back().seconds, seconds_since(set.begin));
      if (stop) set.stop = *stop;
    }
    set.end = Clock::now();
    return {};
  }

  Result<Sample> take_one(Case& work, SampleSet& set) {
    if (set.cache_state == CacheState::cold) {
      TRY(stream_->fill(flush_.data(), 0x5A, flush_.bytes()));
      TRY(stream_->synchronize());
    }
    Sample sample;
    if (set.time_source == TimeSource::device_events) {
      sample = TRY(take_between_events(work, set));
    } else {
      const auto begin = Clock::now();
      TRY(work.enqueue(*stream_));
      if (set.time_source == TimeSource::enqueue_only) sample.seconds = seconds_since(begin);
      TRY(stream_->synchronize());
      if (set.time_source == TimeSource::host_clock) sample.seconds = seconds_since(begin);
    }
    if (const auto own = TRY(work.own_seconds())) sample.seconds = *own;
    sample.seconds /= work.work().repetitions * set.launches;
    const double highest = device_.facts().clock_hz;
    sample.throttled =
        sample.clock_hz && highest > 0 && *sample.clock_hz < throttle_share * highest;
    return sample;
  }

  /// Everything is queued before the device may start: gate, clock, start event, work, stop event,
  /// clock. The probes lie outside the event pair.
  Result<Sample> take_between_events(Case& work, SampleSet& set) {
    if (set.gated) TRY(gate_.close(*stream_));
    const Status queued = queue_timed(work, set.launches);
    gate_.open();  // also when queueing failed: the stream must not be left waiting
    TRY(stream_->synchronize());
    TRY(queued);
    // A driver that blocks while the gate is closed makes every sample wait for its time limit.
    if (set.gated && gate_.gave_up()) set.gated = false;
    Sample sample;
    sample.seconds = TRY(stop_->seconds_since(*start_));
    sample.clock_hz = probe_.clock_hz();
    return sample;
  }

  Status queue_timed(Case& work, int launches) {
    TRY(probe_.read_before(*stream_));
    TRY(stream_->record(*start_));
    for (int i = 0; i < launches; ++i) TRY(work.enqueue(*stream_));
    TRY(stream_->record(*stop_));
    return probe_.read_after(*stream_);
  }

  Status prepare_flush() {
    if (flush_.bytes() > 0) return {};
    // Twice the real last-level cache; a device that does not say gets twice the largest known.
    constexpr std::uint64_t largest_known = std::uint64_t{256} << 20;
    const std::uint64_t cache = device_.facts().last_level_cache_bytes;
    flush_ = TRY(device_.allocate(2 * (cache > 0 ? cache : largest_known), MemoryKind::device));
    return {};
  }

  Device& device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> start_, stop_;
  Gate gate_;
  ClockProbe probe_;
  Buffer flush_;
  Sample last_warm_up_;
};

}  // namespace

Result<std::unique_ptr<Sampler>> Sampler::create(Device& device) {
  std::unique_ptr<Stream> stream = TRY(device.create_stream());
  std::unique_ptr<Event> start = TRY(device.create_event());
  std::unique_ptr<Event> stop = TRY(device.create_event());
  Gate gate = TRY(Gate::create(device));
  ClockProbe probe = TRY(ClockProbe::create(device));
  return std::unique_ptr<Sampler>(
      std::make_unique<DeviceSampler>(device, std::move(stream), std::move(start), std::move(stop),
                                      std::move(gate), std::move(probe)));
}

}  // namespace assay
