#include "measure/sampling/sampler.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <utility>

#include "ranks/team/thread_team.h"
#include "statistics/summary.h"
#include "support/temporary_folder.h"
#include "support/test_device.h"

namespace assay {
namespace {

/// Launches the empty kernel `launches` times.
class LaunchingCase final : public Case {
 public:
  LaunchingCase(Device& device, unsigned launches) : launches_(launches) {
    program_ = std::move(device.build({"empty", {}})).value();
    kernel_ = program_->kernel("empty").value();
  }
  Work work() const override { return {.repetitions = static_cast<double>(launches_)}; }
  Quantity quantity() const override { return Quantity::latency; }
  Limit limit() const override { return bound; }
  CacheState cache_state() const override { return cache; }
  std::optional<std::size_t> fixed_samples() const override { return fixed; }
  int launches_per_sample(double) const override { return in_a_sample; }
  bool takes_part() const override { return part; }
  bool may_repeat() const override { return repeats; }
  TimeSource time_source() const override { return clock; }
  Status enqueue(Stream& stream) override {
    ++enqueued;
    if (each_time) each_time();
    if (enqueued > most_enqueued) return Error{ErrorKind::failed, "scripted"};
    for (unsigned i = 0; i < launches_; ++i) TRY(launch(stream, *kernel_, {}, 0));
    return {};
  }
  Result<Verification> verify(Stream&) override { return Verification{true, "", 0, 0, ""}; }

  CacheState cache = CacheState::hot;
  Limit bound = Limit::none;
  std::optional<std::size_t> fixed;
  int in_a_sample = 1;
  bool part = true, repeats = true;
  TimeSource clock = TimeSource::device_events;
  std::size_t enqueued = 0, most_enqueued = std::numeric_limits<std::size_t>::max();
  std::function<void()> each_time;

 private:
  std::unique_ptr<Program> program_;
  Kernel* kernel_;
  unsigned launches_;
};

const auto never = [] { return false; };

std::vector<double> seconds_of(const SampleSet& set) {
  std::vector<double> seconds;
  for (const Sample& sample : set.samples) seconds.push_back(sample.seconds);
  return seconds;
}

/// Virtual time needs no settling.
SamplingLimits quick_limits() {
  SamplingLimits limits;
  limits.settling_seconds = 0;
  return limits;
}

SampleSet take_on(Device& device, Case& work, const SamplingLimits& limits = quick_limits()) {
  auto sampler = std::move(Sampler::create(device)).value();
  auto set = sampler->take(work, limits, never);
  EXPECT_TRUE(set) << set.error().message;
  return std::move(set).value();
}

TEST(Sampler, SecondsAreOfOneRepetition) {
  auto device = open_fake_device("noise=0,launch=0.001");
  LaunchingCase work(*device, 10);
  const SampleSet set = take_on(*device, work);
  ASSERT_EQ(set.samples.size(), 30u);
  EXPECT_NEAR(set.samples[0].seconds, 0.001, 1e-12);
  EXPECT_EQ(set.stop, StopReason::precision);
  EXPECT_EQ(set.warmup_stop, StopReason::warm);
  EXPECT_EQ(set.warmup_launches, 20u);
  EXPECT_TRUE(set.gated);
  EXPECT_EQ(work.enqueued, 50u);
}

TEST(Sampler, ThrottledComputeBoundWorkIsLaunchedUntilASampleIsLongEnough) {
  auto device = open_fake_device("noise=0,launch=0.001,throttle=1");
  LaunchingCase work(*device, 1);
  work.bound = Limit::compute;
  SamplingLimits limits = quick_limits();
  limits.sustained_time_box_seconds = 0.15;  // asks for samples of 10 ms
  const SampleSet set = take_on(*device, work, limits);
  ASSERT_FALSE(set.samples.empty());
  const double alone = set.samples[0].seconds * set.launches;
  EXPECT_GT(set.launches, 1);
  EXPECT_NEAR(alone, 0.01, 0.002);
  EXPECT_FALSE(set.gated);
  EXPECT_EQ(work.enqueued, set.warmup_launches + set.launches * set.samples.size());
}

/// A machine whose control group counts how often its CPU quota stopped threads.
class LimitedMachine {
 public:
  LimitedMachine() {
    folder_.write("proc/self/cgroup", "0::/box\n");
    folder_.write("sys/fs/cgroup/cgroup.controllers", "cpu\n");
    stop();
  }
  const std::filesystem::path& root() const { return folder_.path(); }
  void stop() {
    folder_.write("sys/fs/cgroup/box/cpu.stat",
                  fmt::format("nr_throttled {}\nthrottled_usec 80000\n", ++stops_));
  }

 private:
  const TemporaryFolder folder_;
  int stops_ = 0;
};

SampleSet take_within(const LimitedMachine& machine, Device& device, Case& work) {
  auto sampler = std::move(Sampler::create(device, solo_team(), machine.root())).value();
  SamplingLimits limits = quick_limits();
  limits.sustained_time_box_seconds = 1;  // ten periods
  auto set = sampler->take(work, limits, never);
  EXPECT_TRUE(set) << set.error().message;
  return std::move(set).value();
}

TEST(Sampler, WorkThatACpuQuotaStopsIsLaunchedUntilASampleLastsForAWholePeriod) {
  auto device = open_fake_device("noise=0");
  LimitedMachine machine;
  LaunchingCase work(*device, 1);
  work.clock = TimeSource::host_clock;
  work.each_time = [&] { machine.stop(); };
  const SampleSet set = take_within(machine, *device, work);
  EXPECT_GT(set.launches, 1) << "each takes much less than a period, but writes a file";
  EXPECT_FALSE(set.gated);
  EXPECT_EQ(work.enqueued, set.warmup_launches + set.launches * set.samples.size());
}

TEST(Sampler, StopsInAnotherCellDoNotMakeASampleLonger) {
  auto device = open_fake_device("noise=0");
  LimitedMachine machine;
  auto sampler = std::move(Sampler::create(*device, solo_team(), machine.root())).value();
  SamplingLimits limits = quick_limits();
  limits.warmup_seconds = limits.settling_seconds = 0.3;  // longer than two periods
  limits.sustained_time_box_seconds = 1;
  LaunchingCase work(*device, 1);
  work.clock = TimeSource::host_clock;
  work.each_time = [&] { machine.stop(); };
  const auto stopped = sampler->take(work, limits, never);
  ASSERT_TRUE(stopped) << stopped.error().message;
  EXPECT_GT(stopped->launches, 1);
  for (const bool fails : {false, true}) {  // whether the cell that was stopped has failed
    if (fails) {
      work.most_enqueued = work.enqueued + 20;
      work.each_time = [&] { machine.stop(); };
      ASSERT_FALSE(sampler->take(work, limits, never));
      work.most_enqueued = std::numeric_limits<std::size_t>::max();
    }
    work.each_time = [] {};
    const auto free = sampler->take(work, limits, never);
    ASSERT_TRUE(free) << free.error().message;
    EXPECT_EQ(free->launches, 1) << fails;
  }
}

/// The quota stopped nothing, caches are cold, samples are counted, the device is not the host, or
/// several launches are another quantity.
TEST(Sampler, OtherWorkUnderACpuQuotaKeepsItsLaunches) {
  for (const int kind : {0, 1, 2, 3, 4}) {
    auto device = open_fake_device("noise=0");
    LimitedMachine machine;
    LaunchingCase work(*device, 1);
    work.clock = kind == 3 ? TimeSource::device_events : TimeSource::host_clock;
    if (kind == 1) work.cache = CacheState::cold;
    if (kind == 2) work.fixed = 5;
    if (kind == 4) work.repeats = false;
    if (kind != 0) work.each_time = [&] { machine.stop(); };
    EXPECT_EQ(take_within(machine, *device, work).launches, 1) << kind;
  }
}

/// One that launched less often than the others would leave them waiting for it. A rank that takes
/// no part has no say, however its clock is.
TEST(Sampler, RanksLaunchEquallyOftenWhenOneAloneIsThrottled) {
  for (const auto& [throttled, idle] : {std::pair(0, -1), {1, -1}, {1, 1}, {-1, -1}}) {
    ThreadTeam team(2);
    std::array<int, 2> launches = {};
    std::array<std::size_t, 2> samples = {};
    std::vector<std::unique_ptr<Device>> devices;
    for (const int rank : {0, 1}) {
      devices.push_back(open_fake_device(rank == throttled ? "noise=0,launch=0.001,throttle=1"
                                                           : "noise=0,launch=0.001"));
    }
    team.run([&, idle = idle](ThreadTeam::End& end) {
      Device& device = *devices[static_cast<std::size_t>(end.rank())];
      LaunchingCase work(device, 1);
      work.bound = Limit::compute;
      work.part = end.rank() != idle;
      SamplingLimits limits = quick_limits();
      // Asks for samples of 10 ms, on the other rank, which has less of a budget left, of 4.
      limits.sustained_time_box_seconds = end.rank() == 0 ? 0.15 : 0.06;
      auto sampler = std::move(Sampler::create(device, end)).value();
      const auto set = sampler->take(work, limits, never);
      ASSERT_TRUE(set) << set.error().message;
      launches[static_cast<std::size_t>(end.rank())] = set->launches;
      samples[static_cast<std::size_t>(end.rank())] = set->samples.size();
    });
    const bool long_samples = throttled >= 0 && throttled != idle;
    EXPECT_EQ(launches[0], long_samples ? 6 : 1) << throttled << ", " << idle;  // of 1.67 ms each
    EXPECT_EQ(launches[0], launches[1]);
    EXPECT_EQ(samples[0], samples[1]);
  }
}

TEST(Sampler, ComputeBoundWorkMayAskForSeveralLaunches) {
  auto device = open_fake_device("noise=0,launch=0.001");
  LaunchingCase work(*device, 1);
  work.bound = Limit::compute;
  work.in_a_sample = 7;
  const SampleSet set = take_on(*device, work);
  EXPECT_EQ(set.launches, 7);
  EXPECT_FALSE(set.gated);
  EXPECT_EQ(work.enqueued, set.warmup_launches + 7 * set.samples.size());
}

TEST(Sampler, AFixedNumberOfSamplesIsLaunchedThatOftenAfterThreeLaunches) {
  // Throttled and without noise: otherwise 15 samples of several launches, or 30 of one.
  for (const char* script : {"noise=0,launch=0.001", "noise=0,launch=0.001,throttle=1"}) {
    auto device = open_fake_device(script);
    LaunchingCase work(*device, 1);
    work.bound = Limit::compute;
    work.fixed = 50;
    const SampleSet set = take_on(*device, work);
    EXPECT_EQ(set.samples.size(), 50u);
    EXPECT_EQ(set.stop, StopReason::sample_limit);
    EXPECT_EQ(set.warmup_launches, 3u);
    EXPECT_EQ(set.launches, 1);
    EXPECT_EQ(work.enqueued, 53u);
  }
}

/// A launch takes 5 us alone and 1 us behind others; the last one of a short warm-up is delayed by
/// 2 ms.
class DisturbedCase final : public Case {
 public:
  Work work() const override { return {}; }
  Quantity quantity() const override { return Quantity::latency; }
  Limit limit() const override { return Limit::none; }
  TimeSource time_source() const override { return TimeSource::host_clock; }
  int launches_per_sample(double seconds) const override {
    return static_cast<int>(std::lround(1e-3 / seconds));
  }
  Status enqueue(Stream&) override {
    ++enqueued_;
    return {};
  }
  Result<std::optional<double>> own_seconds() override {
    const int launches = std::exchange(enqueued_, 0);
    return std::optional(++samples_ == 3 ? 2e-3 : 4e-6 + 1e-6 * launches);
  }
  Result<Verification> verify(Stream&) override { return Verification{true, "", 0, 0, ""}; }

 private:
  int enqueued_ = 0, samples_ = 0;
};

TEST(Sampler, SamplesAreAsLongAsLaunchesInARowSay) {
  auto device = open_fake_device("");
  DisturbedCase work;
  SamplingLimits limits = quick_limits();
  limits.warmup_seconds = 0;
  const SampleSet set = take_on(*device, work, limits);
  EXPECT_EQ(set.warmup_launches, 3u + 200u);  // the delayed launch does not shorten the samples
  EXPECT_NEAR(set.launches, 980, 1);          // 200 in a row took 204 us
}

TEST(Sampler, StopsOnPrecisionUnderNoise) {
  auto device = open_fake_device("noise=0.02");
  LaunchingCase work(*device, 1);
  const SampleSet set = take_on(*device, work);
  EXPECT_EQ(set.stop, StopReason::precision);
  const Summary summary = summarize(seconds_of(set));
  EXPECT_LE((summary.interval95.high - summary.interval95.low) / 2, 0.005 * summary.median);
  EXPECT_GT(summary.n, 30u);
  EXPECT_NEAR(summary.median, 1e-4, 1e-6);
}

TEST(Sampler, KeepsAndCountsThrottledSamples) {
  auto device = open_fake_device("noise=0.0001,throttle=0.25,seed=3");
  LaunchingCase work(*device, 1);
  SamplingLimits limits = quick_limits();
  limits.precision = 0;
  limits.most_samples = 400;
  const SampleSet set = take_on(*device, work, limits);
  ASSERT_EQ(set.samples.size(), 400u);
  std::size_t throttled = 0;
  for (const Sample& sample : set.samples) {
    ASSERT_TRUE(sample.clock_hz);
    throttled += sample.throttled;
    EXPECT_EQ(sample.throttled, sample.seconds > 1.5e-4);
    EXPECT_NEAR(*sample.clock_hz, sample.throttled ? 0.6e9 : 1e9, 1e6);
  }
  EXPECT_NEAR(static_cast<double>(throttled) / 400, 0.25, 0.08);
}

TEST(Sampler, DriftShowsInTheSamplesAndIsNotDropped) {
  auto device = open_fake_device("noise=0,drift=5,launch=0.001");
  LaunchingCase work(*device, 1);
  SamplingLimits limits = quick_limits();
  limits.warmup_seconds = 0;  // a warm-up would wait for the drift to end
  limits.most_samples = 100;
  limits.precision = 0;
  const auto seconds = seconds_of(take_on(*device, work, limits));
  EXPECT_GT(seconds.back(), 1.3 * seconds.front());
  EXPECT_GT(autocorrelation(seconds), 0.9);
}

TEST(Sampler, AFailingLaunchIsAnErrorAndNamesItself) {
  auto device = open_fake_device("fail_at=25");
  LaunchingCase work(*device, 1);
  auto sampler = std::move(Sampler::create(*device)).value();
  const auto set = sampler->take(work, quick_limits(), never);
  ASSERT_FALSE(set);
  EXPECT_THAT(set.error().message, testing::HasSubstr("launch 25"));
}

TEST(Sampler, InterruptionKeepsWhatWasTaken) {
  auto device = open_fake_device("noise=0.0001");
  LaunchingCase work(*device, 1);
  auto sampler = std::move(Sampler::create(*device)).value();
  SamplingLimits limits = quick_limits();
  limits.precision = 0;
  const auto set = sampler->take(work, limits, [&] { return work.enqueued >= 100; });
  ASSERT_TRUE(set);
  EXPECT_EQ(set->stop, StopReason::interrupted);
  EXPECT_EQ(set->samples.size() + set->warmup_launches, 100u);
  EXPECT_GT(set->samples.size(), 0u);
}

TEST(Sampler, WorksOnTheCpuBackendColdAndHot) {
  auto device = open_test_device("cpu");
  for (const CacheState cache : {CacheState::hot, CacheState::cold}) {
    LaunchingCase work(*device, 1);
    work.cache = cache;
    SamplingLimits limits = quick_limits();
    limits.least_samples = 6;
    limits.most_samples = 8;
    limits.time_box_seconds = 60;  // a cold sample takes a while under sanitizers
    SampleSet set = take_on(*device, work, limits);
    const auto is_sound = [&] {
      return set.gated && std::ranges::all_of(set.samples, [](const Sample& sample) {
               return sample.seconds < 0.5;
             });
    };
    constexpr int attempts = 5;  // a busy machine may stop this process for a second
    for (int i = 1; i < attempts && !is_sound(); ++i) set = take_on(*device, work, limits);
    EXPECT_EQ(set.cache_state, cache);
    EXPECT_TRUE(set.gated) << "the gate gave up: the host could not open it within a second";
    EXPECT_GE(set.samples.size(), 6u);
    for (const Sample& sample : set.samples) {
      EXPECT_GT(sample.seconds, 0);
      EXPECT_LT(sample.seconds, 0.5);
    }
  }
}

}  // namespace
}  // namespace assay
