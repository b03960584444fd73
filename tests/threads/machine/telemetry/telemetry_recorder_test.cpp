// The recorder: its schedule, its slices, and the effect of slow sources.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "machine/telemetry/recorder.h"

namespace assay {
namespace {

using Clock = TelemetryRecorder::Clock;
using std::chrono::milliseconds;

/// Counts its readings, in `ticks` too; a reading takes `duration`.
class CountingSource final : public TelemetrySource {
 public:
  explicit CountingSource(std::atomic<int>* ticks, milliseconds duration)
      : ticks_(ticks), duration_(duration) {}
  const std::vector<Channel>& channels() const override { return channels_; }
  void read(std::span<double> values, bool all) override {
    std::this_thread::sleep_for(duration_);
    values[0] = ++readings_;
    if (all) values[1] = 1;
    if (ticks_ != nullptr) ++*ticks_;
  }

 private:
  std::atomic<int>* const ticks_;
  const milliseconds duration_;
  double readings_ = 0;
  const std::vector<Channel> channels_ = {{"a", "count", "1", ChannelKind::counter, ""},
                                          {"a", "slow", "1", ChannelKind::gauge, ""}};
};

/// A driver that never answers, until `release` is set.
class HangingSource final : public TelemetrySource {
 public:
  struct Shared {
    std::atomic<bool> release = false, reading = false, gone = false;
  };
  explicit HangingSource(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  ~HangingSource() override { shared_->gone = true; }
  const std::vector<Channel>& channels() const override { return channels_; }
  void read(std::span<double> values, bool) override {
    shared_->reading = true;
    while (!shared_->release) std::this_thread::sleep_for(milliseconds(1));
    values[0] = 1;
  }

 private:
  const std::shared_ptr<Shared> shared_;
  const std::vector<Channel> channels_ = {{"a", "hangs", "1", ChannelKind::gauge, ""}};
};

TelemetrySources sources_of(std::atomic<int>* ticks = nullptr, milliseconds duration = {}) {
  TelemetrySources sources;
  sources.push_back(std::make_unique<CountingSource>(ticks, duration));
  return sources;
}

/// Returns after `count` more ticks; gives up after a minute.
void wait_for_ticks(const std::atomic<int>& ticks, int count) {
  const int wanted = ticks + count;
  for (int i = 0; i < 60'000 && ticks < wanted; ++i) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_GE(ticks, wanted);
}

TEST(TelemetryRecorder, ASliceHoldsItsWindowAndWhatSurroundsIt) {
  std::atomic<int> ticks = 0;
  TelemetryRecorder recorder(sources_of(&ticks), 0.01);
  wait_for_ticks(ticks, 15);
  const Clock::time_point begin = Clock::now();
  wait_for_ticks(ticks, 25);
  const Clock::time_point end = Clock::now();
  const TelemetryTrace trace = recorder.slice(begin, end);
  ASSERT_GE(trace.seconds.size(), 25u);
  EXPECT_LT(trace.seconds.size(),
            static_cast<std::size_t>(ticks.load()));  // earlier ticks are not in it
  EXPECT_DOUBLE_EQ(trace.window, std::chrono::duration<double>(end - begin).count());
  EXPECT_LE(trace.seconds.front(), 0);
  EXPECT_GE(trace.seconds.back(), trace.window);
  EXPECT_TRUE(std::is_sorted(trace.seconds.begin(), trace.seconds.end()));
  EXPECT_EQ(trace.values[0].size(), trace.seconds.size());
  // Slow channels have a reading at both ends, and not at every tick in between.
  EXPECT_EQ(trace.values[1].front(), 1);
  EXPECT_EQ(trace.values[1].back(), 1);
  const auto unread = std::count_if(trace.values[1].begin(), trace.values[1].end(),
                                    [](double value) { return std::isnan(value); });
  EXPECT_GT(unread, 0);
  EXPECT_GT(trace.cost.ticks, 4u);
  EXPECT_GT(trace.cost.cpu_seconds, 0);
}

TEST(TelemetryRecorder, ASliceOfNowDoesNotWaitForTheNextTick) {
  TelemetryRecorder recorder(sources_of(), 3600);
  const Clock::time_point begin = Clock::now();
  const TelemetryTrace trace = recorder.slice(begin, Clock::now());
  EXPECT_GE(trace.seconds.size(), 1u);
  EXPECT_GE(trace.seconds.back(), trace.window);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(60));
}

TEST(TelemetryRecorder, LateTicksAreSkippedAndCounted) {
  std::atomic<int> ticks = 0;
  const Clock::time_point begin = Clock::now();
  TelemetryRecorder recorder(sources_of(&ticks, milliseconds(50)), 0.01);
  wait_for_ticks(ticks, 5);
  const TelemetryTrace trace = recorder.slice(begin, Clock::now());
  EXPECT_GT(trace.cost.missed, trace.cost.ticks);  // each reading takes the place of five
  // No tick is caught up: each place in the schedule is either taken or missed.
  const std::chrono::duration<double> lived = Clock::now() - begin;
  EXPECT_LE(static_cast<double>(trace.cost.ticks + trace.cost.missed), lived.count() / 0.01 + 8);
  EXPECT_GE(trace.cost.longest_read_seconds, 0.05);
  EXPECT_LE(static_cast<double>(trace.cost.ticks), lived.count() / 0.05 + 1);
}

TEST(TelemetryRecorder, EndsAtOnceWhateverItsInterval) {
  const Clock::time_point begin = Clock::now();
  { const TelemetryRecorder recorder(sources_of(), 3600); }
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(60));
}

TEST(TelemetryRecorder, EndsAlthoughADriverHangs) {
  const auto shared = std::make_shared<HangingSource::Shared>();
  const auto wait_for = [](const std::atomic<bool>& flag) {
    for (int i = 0; i < 60'000 && !flag; ++i) std::this_thread::sleep_for(milliseconds(1));
    return flag.load();
  };
  // Ends the test if the recorder waits for the driver for ever.
  std::thread rescue([shared] {
    for (int i = 0; i < 120'000 && !shared->release; ++i) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    shared->release = true;
  });
  const Clock::time_point begin = Clock::now();
  {
    TelemetrySources sources;
    sources.push_back(std::make_unique<HangingSource>(shared));
    const TelemetryRecorder recorder(std::move(sources), 3600);
    EXPECT_TRUE(wait_for(shared->reading));
  }
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(60));
  EXPECT_FALSE(shared->gone);  // a source that is being read stays
  shared->release = true;
  EXPECT_TRUE(wait_for(shared->gone));  // and is destroyed once the driver answers
  rescue.join();
}

}  // namespace
}  // namespace assay
