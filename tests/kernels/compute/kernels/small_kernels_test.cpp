// The kernels of few lines: patterns, the gate, the clock, counters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/sampling/clock_probe.h"
#include "measure/sampling/start_gate.h"
#include "support/kernel_test.h"

namespace assay {
namespace {

using testing::Each;

class SmallKernels : public KernelTest {
 protected:
  Kernel& kernel(const char* program, const char* name) {
    auto built = device_->build({program, {}});
    EXPECT_TRUE(built) << built.error().message;
    programs_.push_back(std::move(*built));
    return *programs_.back()->kernel(name).value();
  }
  void TearDown() override { programs_.clear(); }

  std::vector<std::unique_ptr<Program>> programs_;
};

TEST_P(SmallKernels, APatternIsItsFormulaAndEveryDifferentWordIsCounted) {
  constexpr std::uint64_t n = 1003, seed = 5;
  constexpr unsigned blocks = 3;
  Kernel &fill = kernel("copy_check_pattern", "fill_pattern"),
         &check = kernel("copy_check_pattern", "check_pattern");
  const Buffer words = allocate(n * 8), wrong = allocate(blocks * 8);
  const auto count = [&] {
    EXPECT_TRUE(launch(*stream_, check, {{blocks}, {128}}, wrong.data(), words.data(), n, seed));
    std::uint64_t sum = 0;
    for (const std::uint64_t part : download<std::uint64_t>(wrong.data(), blocks)) sum += part;
    return sum;
  };
  ASSERT_TRUE(launch(*stream_, fill, {{blocks}, {128}}, words.data(), n, seed));
  auto values = download<std::uint64_t>(words.data(), n);
  for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(values[i], (i + seed) * 0x9E3779B97F4A7C15u);
  EXPECT_EQ(count(), 0u);
  for (const std::size_t i : {0, 500, 1002}) values[i] ^= 1;
  write(words.data(), values);
  EXPECT_EQ(count(), 3u);
}

TEST_P(SmallKernels, WhatIsQueuedBehindAGateWaitsUntilItOpens) {
  auto gate = Gate::create(*device_);
  ASSERT_TRUE(gate) << gate.error().message;
  const Buffer counter = upload<std::uint32_t>({0});
  Kernel& increment = kernel("empty", "increment");
  auto done = std::move(device_->create_event()).value();
  ASSERT_TRUE(gate->close(*stream_));
  ASSERT_TRUE(launch(*stream_, kernel("empty", "empty"), {{1}, {64}}, 0));
  ASSERT_TRUE(launch(*stream_, increment, {{1}, {1}}, counter.data()));
  ASSERT_TRUE(stream_->record(*done));
  EXPECT_FALSE(*done->done());
  gate->open();
  EXPECT_EQ(download<std::uint32_t>(counter.data(), 1)[0], 1u);
  EXPECT_FALSE(gate->gave_up());
}

TEST_P(SmallKernels, AGateThatNobodyOpensGivesUp) {
  auto gate = Gate::create(*device_);
  ASSERT_TRUE(gate) << gate.error().message;
  ASSERT_TRUE(gate->close(*stream_));
  ASSERT_TRUE(stream_->synchronize());
  EXPECT_TRUE(gate->gave_up());
}

TEST_P(SmallKernels, TheClockIsReadOnOneMultiprocessorAlone) {
  constexpr std::uint32_t indices = 4096;
  const Buffer present = upload(std::vector<std::uint32_t>(indices, 0));
  const auto blocks = static_cast<unsigned>(device_->facts().multiprocessors);
  ASSERT_TRUE(launch(*stream_, kernel("clock", "mark_multiprocessors"), {{blocks}, {1}},
                     present.data(), indices));
  const auto marks = download<std::uint32_t>(present.data(), indices);
  std::uint32_t there = indices, missing = indices;
  for (std::uint32_t i = indices; i-- > 0;) (marks[i] == 1 ? there : missing) = i;
  ASSERT_LT(there, indices);

  Kernel& read = kernel("clock", "read_clock");
  const auto reading = [&](std::uint32_t multiprocessor) {
    const Buffer values = upload(std::vector<std::uint64_t>(2, 7));
    EXPECT_TRUE(launch(*stream_, read, {{blocks}, {1}}, values.data(), multiprocessor));
    return download<std::uint64_t>(values.data(), 2);
  };
  EXPECT_THAT(reading(missing), Each(7));
  const auto first = reading(there), second = reading(there);
  EXPECT_GT(first[1], 7u);
  EXPECT_GE(second[0], first[0]);
  EXPECT_GE(second[1], first[1]);
}

TEST_P(SmallKernels, EachLinkOfARelayAddsOneAfterTheOneBefore) {
  const auto ticks = static_cast<std::uint64_t>(2e-6 * device_->facts().tick_hz);
  const Buffer values = upload<std::uint32_t>({7, 0, 0}), times = allocate(4 * 8);
  Kernel& relay = kernel("launch_attributes", "relay");
  for (std::size_t i = 0; i < 2; ++i) {
    auto* const from = values.as<std::uint32_t>() + i;
    ASSERT_TRUE(launch(*stream_, relay, {}, {.programmatic = true}, from + 1, from, ticks,
                       times.as<std::uint64_t>() + 2 * i));
  }
  EXPECT_THAT(download<std::uint32_t>(values.data(), 3), testing::ElementsAre(7, 8, 9));
  const auto moments = download<std::uint64_t>(times.data(), 4);
  EXPECT_GE(moments[1], moments[0]);
  EXPECT_GE(moments[3], moments[2]);
}

/// What only NVIDIA's GPUs from Hopper on have; tests/gpu runs it there.
TEST_P(SmallKernels, WithoutClustersEveryRankIsZeroAndWithoutATmaEveryBox) {
  const Buffer ranks_of_blocks = upload<std::uint32_t>({9, 9, 9, 9}), box = allocate(1024);
  ASSERT_TRUE(launch(*stream_, kernel("launch_attributes", "cluster_ranks"), {{3}, {64}},
                     ranks_of_blocks.as<std::uint32_t>()));
  EXPECT_THAT(download<std::uint32_t>(ranks_of_blocks.data(), 4), testing::ElementsAre(0, 0, 0, 9));
  ASSERT_TRUE(stream_->fill(box.data(), 0xff, box.bytes()));
  ASSERT_TRUE(launch(*stream_, kernel("launch_attributes", "load_box"), {{1}, {64}}, TensorMap{}, 0,
                     0, 1024u, box.as<std::uint32_t>()));
  EXPECT_THAT(download<std::uint32_t>(box.data(), 256), Each(0u));
}

ASSAY_KERNEL_BUILDS(SmallKernels);

}  // namespace
}  // namespace assay
