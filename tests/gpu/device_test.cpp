// The device interface on a real accelerator, with the default backend. Without an accelerator
// every test skips and says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "compute/device/arena.h"
#include "compute/device/helpers.h"
#include "device_contract.h"
#include "measure/sampling/clock_probe.h"
#include "measure/sampling/gate.h"

namespace assay {
namespace {

class Gpu : public DeviceContract {
 protected:
  void SetUp() override {
    if (open_test_device("")->facts().backend == "cpu") {
      GTEST_SKIP() << "no accelerator on this machine";
    }
    open("");
  }
};

TEST_F(Gpu, AWaitHoldsTheOtherStreamBack) {
  a_wait_holds_the_other_stream_back();
}
TEST_F(Gpu, AGateThatNobodyOpensGivesUpAfterASecond) {
  a_gate_that_nobody_opens_gives_up_after_a_second();
}
TEST_F(Gpu, EventsAgreeWithTheHostClock) {
  events_agree_with_the_host_clock(100, 0.02);
}
TEST_F(Gpu, GraphReplaysTwoStreamsInOrder) {
  a_graph_replays_two_streams_in_order();
}
TEST_F(Gpu, MoreMemoryThanThereIsIsRefusedAndTheDeviceLivesOn) {
  more_memory_than_there_is_is_refused();
}

TEST_F(Gpu, FactsAreFilledIn) {
  const DeviceFacts& facts = device_->facts();
  EXPECT_FALSE(facts.name.empty());
  EXPECT_FALSE(facts.arch.empty());
  EXPECT_THAT(facts.pci, testing::MatchesRegex("[0-9a-f]+:[0-9a-f]+:[0-9a-f]+\\.[0-9a-f]"));
  EXPECT_FALSE(facts.uuid.empty());
  EXPECT_GT(facts.memory_bytes, std::uint64_t{1} << 30);
  EXPECT_GT(facts.last_level_cache_bytes, std::uint64_t{1} << 20);
  EXPECT_GT(facts.multiprocessors, 10);
  EXPECT_GE(facts.wave_size, 32);
  EXPECT_EQ(facts.max_threads_per_block, 1024);
  EXPECT_GT(facts.clock_hz, 5e8);
  const auto memory = device_->memory_free_and_total();
  ASSERT_TRUE(memory);
  EXPECT_LE(memory->first, memory->second);
}

TEST_F(Gpu, CopiesArriveWholeBetweenAllKindsOfMemory) {
  constexpr std::size_t bytes = 1000003;
  for (const MemoryKind host : {MemoryKind::pinned, MemoryKind::pageable}) {
    Buffer from = std::move(device_->allocate(bytes, host)).value();
    Buffer first = std::move(device_->allocate(bytes, MemoryKind::device)).value();
    Buffer second = std::move(device_->allocate(bytes, MemoryKind::device)).value();
    Buffer back = std::move(device_->allocate(bytes, host)).value();
    for (std::size_t i = 0; i < bytes; ++i) from.as<unsigned char>()[i] = (i * 7 + 3) & 255;
    ASSERT_TRUE(stream_->copy(first.data(), from.data(), bytes));
    ASSERT_TRUE(stream_->copy(second.data(), first.data(), bytes));
    ASSERT_TRUE(stream_->copy(back.data(), second.data(), bytes));
    ASSERT_TRUE(stream_->synchronize());
    EXPECT_EQ(std::memcmp(back.data(), from.data(), bytes), 0);
  }
}

TEST_F(Gpu, ClockProbeGivesAPlausibleEngineClock) {
  auto gate = std::move(Gate::create(*device_)).value();
  auto probe = std::move(ClockProbe::create(*device_)).value();
  ASSERT_TRUE(probe.read_before(*stream_));
  ASSERT_TRUE(gate.close(*stream_));
  ASSERT_TRUE(probe.read_after(*stream_));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  gate.open();
  ASSERT_TRUE(stream_->synchronize());
  ASSERT_TRUE(probe.clock_hz());
  EXPECT_GT(*probe.clock_hz(), 2e8);
  EXPECT_LT(*probe.clock_hz(), 1.05 * device_->facts().clock_hz);
}

TEST_F(Gpu, ResourcesAndOccupancy) {
  const auto resources = increment_->resources();
  ASSERT_TRUE(resources);
  EXPECT_GT(resources->registers, 0);
  EXPECT_EQ(resources->local_bytes, 0);
  const auto blocks = increment_->blocks_per_multiprocessor(256, 0);
  ASSERT_TRUE(blocks);
  EXPECT_EQ(*blocks, device_->facts().max_threads_per_multiprocessor / 256);
}

TEST_F(Gpu, DynamicSharedMemoryUpToTheLimitAndNotBeyond) {
  const auto limit = static_cast<unsigned>(device_->facts().shared_bytes_per_block);
  ASSERT_GT(limit, 0u);
  ASSERT_TRUE(increment_->allow_dynamic_shared(limit));
  ASSERT_TRUE(launch(*stream_, *increment_, {{1}, {1}, limit}, counter_.as<unsigned>()));
  EXPECT_EQ(count(), 1u);
  EXPECT_FALSE(increment_->allow_dynamic_shared(limit + 1024 * 1024));
}

TEST_F(Gpu, PinnedMemoryIsVisibleToKernels) {
  Buffer pinned = std::move(device_->allocate(sizeof(unsigned), MemoryKind::pinned)).value();
  *pinned.as<unsigned>() = 41;
  ASSERT_TRUE(launch(*stream_, *increment_, {}, pinned.as<unsigned>()));
  ASSERT_TRUE(stream_->synchronize());
  EXPECT_EQ(*pinned.as<unsigned>(), 42u);
}

TEST_F(Gpu, ArenaMemoryWorks) {
  Arena arena(std::move(device_->allocate(1 << 20, MemoryKind::device)).value());
  auto* counter = static_cast<unsigned*>(arena.allocate(4).value());
  ASSERT_TRUE(stream_->fill(counter, 0, 4));
  ASSERT_TRUE(launch(*stream_, *increment_, {}, counter));
  EXPECT_EQ(read_back<unsigned>(*stream_, counter, 1).value().front(), 1u);
}

TEST_F(Gpu, SensorsReadPlausibly) {
  const SensorReading reading = device_->sense();
  if (reading.power_watts) {
    EXPECT_GT(*reading.power_watts, 10);
    EXPECT_LT(*reading.power_watts, 2000);
  }
  if (reading.temperature_celsius) {
    EXPECT_GT(*reading.temperature_celsius, 5);
    EXPECT_LT(*reading.temperature_celsius, 120);
  }
}

TEST_F(Gpu, AnUnknownKernelIsNamed) {
  const auto kernel = program_->kernel("no_such_kernel");
  ASSERT_FALSE(kernel);
  EXPECT_THAT(kernel.error().message, testing::HasSubstr("no_such_kernel"));
}

TEST_F(Gpu, EveryKernelSourceBuilds) {
  for (const std::string name : {"memory", "pattern", "gate", "clock", "empty"}) {
    const auto program = device_->build({name, {}});
    EXPECT_TRUE(program) << name << ": " << program.error().message;
  }
}

}  // namespace
}  // namespace assay
