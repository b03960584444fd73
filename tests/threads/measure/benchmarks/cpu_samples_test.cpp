// What makes samples on a CPU the same in every process: where threads run, and how often a short
// kernel is launched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/system/affinity.h"
#include "measure/grid/benchmark.h"
#include "ranks/collective/communicators.h"
#include "support/test_device.h"

namespace assay {
namespace {

class CpuSamples : public testing::Test {
 protected:
  std::unique_ptr<Case> prepare(const std::string& device, std::string_view name,
                                const std::vector<AxisSetting>& settings) {
    device_ = device == "fake" ? open_fake_device("memory=100000000") : open_test_device(device);
    stream_ = std::move(device_->create_stream()).value();
    alone_ = std::make_unique<Communicators>(*device_, solo_team());
    const Benchmark* benchmark = find_benchmark(name);
    const Cell cell = expand_cells(name, benchmark->axes(), settings).value().at(0);
    return benchmark->prepare(cell, {*device_, *stream_, 3, solo_team(), *alone_}).value();
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Communicators> alone_;
};

TEST_F(CpuSamples, AThreadThatLaunchesARowSharesTheStreamsCpu) {
  const std::vector<int> before = affinity_cpus();
  if (before.size() < 2) GTEST_SKIP() << "needs two CPUs";
  for (const char* metric : {"back_to_back", "submit", "latency"}) {
    const auto work = prepare("cpu", "launch", {{"metric", metric}});
    EXPECT_EQ(affinity_cpus(), std::vector<int>{before.front()}) << metric;
    EXPECT_NE(work->time_source(), TimeSource::device_events) << metric;
  }
  EXPECT_EQ(affinity_cpus(), before) << "it is released with the case";
}

/// A gate holds the stream's CPU while the other operations are queued.
TEST_F(CpuSamples, AThreadThatQueuesBehindAGateRunsWhereItCan) {
  const std::vector<int> before = affinity_cpus();
  for (const char* metric : {"graph_node", "event_gap"}) {
    const auto work = prepare("cpu", "launch", {{"metric", metric}});
    EXPECT_EQ(affinity_cpus(), before) << metric;
    EXPECT_EQ(work->time_source(), TimeSource::device_events) << metric;
  }
}

TEST_F(CpuSamples, SmallArraysAreUsedSeveralTimesInASample) {
  const auto launches = [&](const char* device, const char* size, const char* cache) {
    return prepare(device, "memory",
                   {{"op", "triad"}, {"dtype", "f64"}, {"size", size}, {"cache", cache}})
        ->launches_per_sample(1e-5);
  };
  EXPECT_EQ(launches("cpu", "1MiB", "hot"), 20);
  EXPECT_EQ(launches("cpu", "4MiB", "hot"), 5);
  EXPECT_EQ(launches("cpu", "32MiB", "hot"), 1);
  EXPECT_EQ(launches("cpu", "1MiB", "cold"), 1);  // the second launch would find a warm cache
  EXPECT_EQ(launches("fake", "1MiB", "hot"), 1);
}

}  // namespace
}  // namespace assay
