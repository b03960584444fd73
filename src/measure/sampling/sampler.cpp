#include "measure/sampling/sampler.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "compute/device/helpers.h"
#include "machine/telemetry/quota_stops.h"
#include "measure/sampling/clock_probe.h"
#include "measure/sampling/start_gate.h"
#include "measure/sampling/stopping_rule.h"
#include "measure/sampling/team_sample.h"
#include "ranks/team/agreement.h"
#include "ranks/team/team_wait.h"
#include "ranks/team/wire.h"
#include "statistics/summary.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A sample counts as throttled below this share of the highest clock that the driver reports.
constexpr double throttle_share = 0.9;

class DeviceSampler final : public Sampler {
 public:
  DeviceSampler(Device& device, Team& team, std::unique_ptr<Stream> stream,
                std::unique_ptr<Event> start, std::unique_ptr<Event> stop,
                std::unique_ptr<Event> idle, Gate gate, ClockProbe probe,
                std::optional<QuotaStops> quota)
      : device_(device),
        team_(team),
        stream_(std::move(stream)),
        start_(std::move(start)),
        stop_(std::move(stop)),
        idle_(std::move(idle)),
        gate_(std::move(gate)),
        probe_(std::move(probe)),
        quota_(std::move(quota)) {}

  Stream& stream() override { return *stream_; }

  Result<SampleSet> take(Case& work, const SamplingLimits& usual,
                         const std::function<bool()>& stop_requested) override {
    auto set = take_set(work, usual, stop_requested);
    cell_ = stops_so_far();
    return set;
  }

 private:
  Result<SampleSet> take_set(Case& work, const SamplingLimits& usual,
                             const std::function<bool()>& stop_requested) {
    const std::optional<std::size_t> fixed = work.fixed_samples();
    const SamplingLimits limits = fixed ? exactly(*fixed, usual) : usual;
    SampleSet set;
    set.time_source = work.time_source();
    set.cache_state = work.cache_state();
    set.gated = set.time_source == TimeSource::device_events && work.fits_behind_gate();
    if (set.cache_state == CacheState::cold) {
      TRY(agree(team_, "making room to flush caches", prepare_flush()));
    }
    const auto begin = Clock::now();
    TRY(warm_up(work, limits, stop_requested, set));
    set.before = device_.sense();
    if (set.warmup_stop == StopReason::interrupted) {
      set.stop = StopReason::interrupted;
    } else {
      const SamplingLimits pace =
          fixed ? limits : TRY(prepare_pace(work, limits, stop_requested, set));
      TRY(repeat(work, pace, stop_requested, set));
      if (team_.size() > 1 && work.waits_for_all()) TRY(watch_arrivals(work, set));
    }
    set.after = device_.sense();
    set.wall_seconds = seconds_since(begin);
    return set;
  }

  Status warm_up(Case& work, const SamplingLimits& limits,
                 const std::function<bool()>& stop_requested, SampleSet& set) {
    WarmupRule rule(limits);
    const bool gated = std::exchange(set.gated, false);
    const auto begin = Clock::now();
    const auto judge = [&](double seconds) { return rule.after(seconds, seconds_since(begin)); };
    fastest_warm_up_ = std::numeric_limits<double>::infinity();
    while (set.warmup_stop == StopReason::not_run) {
      const TeamSample taken = TRY(take_together(work, set, stop_requested, judge, last_warm_up_));
      fastest_warm_up_ = std::min(fastest_warm_up_, last_warm_up_.seconds);
      throttled_ = taken.throttled;
      ++set.warmup_launches;
      // The gate is used only from here on: the first launch may load code, which waits for an idle
      // device.
      set.gated = gated;
      if (taken.stop) set.warmup_stop = *taken.stop;
    }
    mean_warm_up_ = seconds_since(begin) / static_cast<double>(set.warmup_launches);
    return {};
  }

  /// Derives from the warm-up how many launches make a sample long enough, and the limits of
  /// sampling.
  Result<SamplingLimits> prepare_pace(Case& work, const SamplingLimits& limits,
                                      const std::function<bool()>& stop_requested, SampleSet& set) {
    const SamplingLimits pace = TRY(choose_launches(work, limits, stop_requested, set));
    if (!TRY(stops_show(work, set))) return pace;
    const SamplingLimits longer = stopped_by_quota(limits);
    TRY(outlast_stops(work, longer, stop_requested, set));
    return longer;
  }

  /// How often a CPU quota has stopped threads of this process's group until a time.
  struct Stops {
    double periods = 0;  ///< 0 if unknown
    Clock::time_point until;
  };
  Stops stops_so_far() {
    const double periods = quota_ ? quota_->read().periods : 0;
    return {std::isnan(periods) ? 0 : periods, Clock::now()};
  }

  /// Whether a CPU quota has often stopped threads since the last sample of the cell before or, if
  /// that was just now, since the sampler was made. One stop in so short a time may be chance.
  bool are_threads_often_stopped() {
    constexpr double enough = 0.2;  // seconds: two periods of a quota
    const Stops& before = seconds_since(cell_.until) >= enough ? cell_ : run_;
    const double stops = stops_so_far().periods - before.periods;
    return stops > 1 && stopped_often(stops, seconds_since(before.until));
  }

  /// Whether a CPU quota often stops threads, the times of this work include such stops, and it may
  /// be launched several times in a sample. Ranks do not agree on a longer sample, so theirs stay
  /// short.
  Result<bool> stops_show(Case& work, const SampleSet& set) {
    const bool timed_on_host =
        set.time_source == TimeSource::host_clock ||
        (set.time_source == TimeSource::device_events && device_.facts().is_host_cpu());
    if (!timed_on_host || team_.size() > 1 || !work.may_repeat() || !are_threads_often_stopped()) {
      return false;
    }
    return set.cache_state != CacheState::cold && !TRY(work.own_seconds());
  }

  /// Raises the number of launches until a sample lasts as long as `limits` ask for, with the time
  /// for which threads are stopped.
  Status outlast_stops(Case& work, const SamplingLimits& limits,
                       const std::function<bool()>& stop_requested, SampleSet& set) {
    const auto begin = Clock::now();
    set.gated = false;  // too many for the gate, and the start hardly matters
    const double least = set.launches, most = std::max(least, 100000.0);
    const auto raise = [&](double factor) {
      set.launches = static_cast<int>(std::clamp(std::ceil(set.launches * factor), least, most));
    };
    // Between the warm-up's launches the host did something, too, so that these are too few.
    raise(limits.least_sample_seconds / std::max(mean_warm_up_ * least, 1e-9));
    constexpr int most_trials = 5;
    for (int i = 0; i < most_trials && !stop_requested(); ++i) {
      const auto go_on = [](double) { return std::optional<StopReason>(); };
      Sample trial;
      TRY(take_together(work, set, stop_requested, go_on, trial));
      set.warmup_launches += static_cast<std::size_t>(set.launches);
      const double seconds = trial.seconds * work.work().repetitions * set.launches;
      const double factor = limits.least_sample_seconds / std::max(seconds, 1e-9);
      const bool last = factor < 4.0 / 3 || set.launches >= most ||
                        seconds_since(begin) > limits.time_box_seconds / 2;
      raise(factor);
      if (last) break;
    }
    return {};
  }

  /// Chooses the launches of a sample by the work's own wishes and, for compute-bound work, the
  /// limits of sampling.
  Result<SamplingLimits> choose_launches(Case& work, const SamplingLimits& limits,
                                         const std::function<bool()>& stop_requested,
                                         SampleSet& set) {
    const double repetitions = work.work().repetitions;
    if (work.limit() != Limit::compute) {
      // Use the fastest warm-up: a disturbed, slow one would give samples with too few launches.
      set.launches = work.launches_per_sample(fastest_warm_up_ * repetitions);
      if (set.launches == 1) return limits;
      // A trial sample is needed: launched back to back, each launch takes less time than alone.
      const auto go_on = [](double) { return std::optional<StopReason>(); };
      Sample trial;
      TRY(take_together(work, set, stop_requested, go_on, trial));
      set.warmup_launches += static_cast<std::size_t>(set.launches);
      const double launch = std::min(trial.seconds, fastest_warm_up_);
      set.launches = work.launches_per_sample(launch * repetitions);
      return limits;
    }
    // Use the last warm-up, when the device is as warm as it will be.
    const double launch = last_warm_up_.seconds * repetitions;
    const SamplingLimits pace = sustained(limits, throttled_);
    constexpr double most = 1000;
    if (set.time_source == TimeSource::device_events && launch > 0) {
      const double fewest = work.launches_per_sample(launch);
      const double long_enough = std::min(std::ceil(pace.least_sample_seconds / launch), most);
      set.launches = static_cast<int>(std::max(long_enough, fewest));
    }
    TRY(launch_equally_often(set));
    if (set.launches > 1) set.gated = false;  // too many for the gate, and the start hardly matters
    return pace;
  }

  /// Broadcasts rank 0's number of launches. The remaining budget differs between ranks, and a rank
  /// that launched less often than the others would leave them waiting for it.
  Status launch_equally_often(SampleSet& set) {
    if (team_.size() == 1) return {};
    std::string mine;
    put(mine, static_cast<std::uint64_t>(set.launches));
    const std::string chosen = TRY(from_rank_0(team_, "choosing a sample's launches", mine));
    PayloadReader reader(chosen);
    const std::uint64_t launches = reader.number();
    constexpr std::uint64_t most = 10000;  // the limit of launches_to_fill()
    if (!reader.ok() || launches < 1 || launches > most) {
      return Error{ErrorKind::failed, "rank 0 sent no number of launches"};
    }
    set.launches = static_cast<int>(launches);
    return {};
  }

  Status repeat(Case& work, const SamplingLimits& limits,
                const std::function<bool()>& stop_requested, SampleSet& set) {
    StoppingRule rule(limits);
    const auto judge = [&](double seconds) {
      return rule.after(seconds, seconds_since(set.begin));
    };
    if (team_.size() > 1) set.by_rank.resize(static_cast<std::size_t>(team_.size()));
    set.begin = Clock::now();
    while (set.stop == StopReason::not_run) {
      Sample sample;
      const TeamSample taken = TRY(take_together(work, set, stop_requested, judge, sample));
      set.samples.push_back(sample);
      for (std::size_t rank = 0; rank < set.by_rank.size(); ++rank) {
        set.by_rank[rank].push_back(taken.by_rank[rank]);
      }
      if (taken.stop) set.stop = *taken.stop;
    }
    set.end = Clock::now();
    return {};
  }

  /// Takes one sample on every rank; its seconds become those of the slowest rank.
  Result<TeamSample> take_together(Case& work, SampleSet& set,
                                   const std::function<bool()>& stop_requested,
                                   const std::function<std::optional<StopReason>(double)>& judge,
                                   Sample& sample) {
    Result<Sample> mine = take_one(work, set);
    if (mine.ok() && !work.takes_part()) mine = Sample{};
    TeamSample taken = TRY(agree_on_sample(team_, mine, stop_requested(), judge));
    sample = *mine;
    sample.seconds = taken.slowest();
    return taken;
  }

  /// Times single launches that begin on all ranks at once, to find the rank that starts late.
  Status watch_arrivals(Case& work, SampleSet& set) {
    // For a long operation one round is enough.
    const double seconds = set.samples.empty() ? 0 : set.samples.back().seconds * set.launches;
    const int rounds = seconds > 0.5 ? 1 : 5;
    std::vector<double> inside;
    for (int i = 0; i < rounds; ++i) {
      TRY(team_.exchange("starting together", ""));
      TRY(finish());
      const auto begin = Clock::now();
      const bool on_device = set.time_source == TimeSource::device_events;
      if (on_device) TRY(stream_->record(*start_));
      TRY(work.enqueue(*stream_));
      if (on_device) TRY(stream_->record(*stop_));
      const double on_host = seconds_since(begin);  // the final time if the library works on the
                                                    // host
      TRY(finish());
      inside.push_back(on_device ? TRY(stop_->seconds_since(*start_)) : on_host);
    }
    const TeamSample arrivals =
        TRY(agree_on_sample(team_, Sample{.seconds = work.takes_part() ? median(inside) : 0}, false,
                            [](double) { return std::optional<StopReason>(); }));
    set.inside = arrivals.by_rank;
    return {};
  }

  Status finish() { return wait_idle(*stream_, *idle_, team_); }

  Result<Sample> take_one(Case& work, SampleSet& set) {
    if (set.cache_state == CacheState::cold) {
      TRY(stream_->fill(flush_.data(), 0x5A, flush_.bytes()));
      TRY(finish());
    }
    Sample sample;
    if (set.time_source == TimeSource::device_events) {
      sample = TRY(take_between_events(work, set));
    } else {
      TRY(work.lead_in(*stream_));
      const auto begin = Clock::now();
      for (int i = 0; i < set.launches; ++i) TRY(work.enqueue(*stream_));
      if (set.time_source == TimeSource::enqueue_only) sample.seconds = seconds_since(begin);
      TRY(finish());
      if (set.time_source == TimeSource::host_clock) sample.seconds = seconds_since(begin);
    }
    if (const auto own = TRY(work.own_seconds())) sample.seconds = *own;
    TRY(work.after_sample());
    sample.seconds /= work.work().repetitions * set.launches;
    const double highest = device_.facts().clock_hz;
    sample.throttled =
        sample.clock_hz && highest > 0 && *sample.clock_hz < throttle_share * highest;
    return sample;
  }

  /// Queues everything before the device may start: gate, clock probe, start event, work, stop
  /// event, clock probe. The probes are outside the pair of events.
  Result<Sample> take_between_events(Case& work, SampleSet& set) {
    if (set.gated) TRY(gate_.close(*stream_));
    const Status queued = queue_timed(work, set.launches);
    gate_.open();  // also if queueing failed: the stream must not be left waiting
    TRY(finish());
    TRY(queued);
    // A driver that blocks while the gate is closed makes every sample wait for its time limit.
    if (set.gated && gate_.gave_up()) set.gated = false;
    Sample sample;
    sample.seconds = TRY(stop_->seconds_since(*start_));
    sample.clock_hz = probe_.clock_hz();
    return sample;
  }

  Status queue_timed(Case& work, int launches) {
    TRY(work.lead_in(*stream_));
    TRY(probe_.read_before(*stream_));
    TRY(stream_->record(*start_));
    for (int i = 0; i < launches; ++i) TRY(work.enqueue(*stream_));
    TRY(stream_->record(*stop_));
    return probe_.read_after(*stream_);
  }

  Status prepare_flush() {
    if (flush_.bytes() > 0) return {};
    flush_ = TRY(device_.allocate(flushing_bytes(device_.facts()), MemoryKind::device));
    return {};
  }

  Device& device_;
  Team& team_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> start_, stop_, idle_;
  Gate gate_;
  ClockProbe probe_;
  std::optional<QuotaStops> quota_;
  const Stops run_ = stops_so_far();  // when the sampler was made
  Stops cell_ = run_;                 // after the last sample of the last cell
  Buffer flush_;
  Sample last_warm_up_;
  double fastest_warm_up_ = 0;  // seconds
  double mean_warm_up_ = 0;     // wall seconds from one launch to the next
  bool throttled_ = false;      // whether any rank was throttled in the last warm-up
};

}  // namespace

Result<std::unique_ptr<Sampler>> Sampler::create(Device& device, Team& team,
                                                 const std::filesystem::path& root) {
  std::unique_ptr<Stream> stream = TRY(device.create_stream());
  std::unique_ptr<Event> start = TRY(device.create_event());
  std::unique_ptr<Event> stop = TRY(device.create_event());
  std::unique_ptr<Event> idle = TRY(device.create_event());
  Gate gate = TRY(Gate::create(device));
  ClockProbe probe = TRY(ClockProbe::create(device));
  return std::unique_ptr<Sampler>(std::make_unique<DeviceSampler>(
      device, team, std::move(stream), std::move(start), std::move(stop), std::move(idle),
      std::move(gate), std::move(probe), QuotaStops::open(root)));
}

}  // namespace assay
