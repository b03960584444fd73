// Copies between two real accelerators, on which the benchmark `peer` relies. Skips with fewer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/grid/benchmark.h"
#include "measure/sampling/sampler.h"
#include "measure/suites/cells_of_target.h"
#include "ranks/collective/communicators.h"
#include "support/test_device.h"

namespace assay {
namespace {

class GpuPeer : public testing::Test {
 protected:
  void SetUp() override {
    device_ = open_test_device("");
    if (device_->facts().backend == "cpu" || device_->siblings() < 2) {
      GTEST_SKIP() << "fewer than two accelerators on this machine";
    }
  }

  static Cell cell(const std::string& pattern, const std::string& engine, const std::string& by,
                   const std::string& size) {
    return Cell("peer", {{"pattern", pattern},
                         {"engine", engine},
                         {"by", by},
                         {"from", "0"},
                         {"to", "1"},
                         {"size", size}});
  }

  std::unique_ptr<Device> device_;
};

TEST_F(GpuPeer, EventsOfOneDeviceHoldBackAStreamOfTheOther) {
  auto other = std::move(device_->open_sibling(1)).value();
  auto here = std::move(device_->create_stream()).value();
  auto there = std::move(other->create_stream()).value();
  auto fork = std::move(device_->create_event()).value();
  auto join = std::move(other->create_event()).value();
  auto end = std::move(device_->create_event()).value();
  constexpr std::size_t bytes = 64 << 20;
  Buffer mine = std::move(device_->allocate(bytes, MemoryKind::device)).value();
  Buffer theirs = std::move(other->allocate(bytes, MemoryKind::device)).value();
  for (int i = 0; i < 32; ++i) ASSERT_TRUE(here->fill(mine.data(), 1, bytes));
  ASSERT_TRUE(here->record(*fork));
  ASSERT_TRUE(there->wait(*fork));
  ASSERT_TRUE(there->fill(theirs.data(), 2, bytes));
  ASSERT_TRUE(there->record(*join));
  ASSERT_TRUE(here->wait(*join));
  ASSERT_TRUE(here->record(*end));
  ASSERT_TRUE(here->synchronize());
  EXPECT_TRUE(join->done().value()) << "the main stream waited for the other device";
  EXPECT_GT(end->seconds_since(*fork).value(), 0);
}

TEST_F(GpuPeer, EveryPatternAndEngineArrivesWholeAndHasAPlausibleRate) {
  auto sampler = std::move(Sampler::create(*device_)).value();
  const Benchmark& benchmark = *find_benchmark("peer");
  for (const std::string pattern : {"pair", "both", "one_to_all", "all_to_one", "all_to_all"}) {
    for (const std::string engine : {"copy", "kernel"}) {
      for (const std::string by : {"destination", "source"}) {
        for (const std::string size : {"4KiB", "64MiB"}) {
          const Cell one = expand_on({cell(pattern, engine, by, size)}, *device_, solo_team())[0];
          SCOPED_TRACE(one.id());
          ASSERT_EQ(benchmark.unsupported(one, *device_), std::nullopt);
          Communicators alone(*device_, solo_team());
          auto work = benchmark.prepare(one, {*device_, sampler->stream(), 1, solo_team(), alone});
          if (!work && work.error().kind == ErrorKind::unsupported) continue;  // no direct path
          ASSERT_TRUE(work) << work.error().message;
          for (int i = 0; i < 3; ++i) {
            ASSERT_TRUE((*work)->enqueue(sampler->stream()));
            ASSERT_TRUE(sampler->stream().synchronize());
          }
          const auto seconds = (*work)->own_seconds();
          ASSERT_TRUE(seconds && *seconds);
          const double rate = (*work)->work().bytes / **seconds;
          EXPECT_GT(rate, size == "4KiB" ? 1e6 : 1e9);
          EXPECT_LT(rate, 2e13);
          const auto verified = (*work)->verify(sampler->stream());
          ASSERT_TRUE(verified) << verified.error().message;
          EXPECT_TRUE(verified->passed) << verified->detail;
        }
      }
    }
  }
}

}  // namespace
}  // namespace assay
