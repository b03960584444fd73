// The device interface on a real accelerator: whatever backend is the default here. Without one
// every test skips and says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "device/arena.h"
#include "device/helpers.h"
#include "measure/clock_probe.h"
#include "measure/gate.h"
#include "test_device.h"

namespace assay {
namespace {

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    device_ = open_test_device("");
    if (device_->facts().backend == "cpu") GTEST_SKIP() << "no accelerator on this machine";
    stream_ = std::move(device_->create_stream()).value();
    program_ = std::move(device_->build({"empty", {}})).value();
    increment_ = program_->kernel("increment").value();
    counter_ = std::move(device_->allocate(sizeof(unsigned), MemoryKind::device)).value();
    ASSERT_TRUE(stream_->fill(counter_.data(), 0, sizeof(unsigned)));
    ASSERT_TRUE(stream_->synchronize());
  }

  unsigned count() { return read_back<unsigned>(*stream_, counter_.data(), 1).value().front(); }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Program> program_;
  Kernel* increment_ = nullptr;
  Buffer counter_;
};

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

TEST_F(Gpu, AWaitHoldsTheOtherStreamBack) {
  auto gate = std::move(Gate::create(*device_)).value();
  auto other = std::move(device_->create_stream(StreamPriority::high)).value();
  auto event = std::move(device_->create_event()).value();
  ASSERT_TRUE(gate.close(*stream_));
  ASSERT_TRUE(stream_->record(*event));
  ASSERT_TRUE(other->wait(*event));
  ASSERT_TRUE(launch(*other, *increment_, {}, counter_.as<unsigned>()));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(event->done().value());
  gate.open();
  ASSERT_TRUE(other->synchronize());
  EXPECT_EQ(count(), 1u);
  EXPECT_FALSE(gate.gave_up());
}

TEST_F(Gpu, AGateThatNobodyOpensGivesUpAfterASecond) {
  auto gate = std::move(Gate::create(*device_)).value();
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(gate.close(*stream_));
  ASSERT_TRUE(stream_->synchronize());
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
  EXPECT_TRUE(gate.gave_up());
  EXPECT_GT(waited.count(), 0.9);
  EXPECT_LT(waited.count(), 3);
}

TEST_F(Gpu, EventsAgreeWithTheHostClock) {
  auto gate = std::move(Gate::create(*device_)).value();
  auto start = std::move(device_->create_event()).value();
  auto stop = std::move(device_->create_event()).value();
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(stream_->record(*start));
  ASSERT_TRUE(gate.close(*stream_));
  ASSERT_TRUE(stream_->record(*stop));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  gate.open();
  ASSERT_TRUE(stop->synchronize());
  const std::chrono::duration<double> host = std::chrono::steady_clock::now() - begin;
  EXPECT_NEAR(stop->seconds_since(*start).value(), host.count(), 0.02);
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

TEST_F(Gpu, GraphReplaysTwoStreamsInOrder) {
  auto other = std::move(device_->create_stream()).value();
  auto fork = std::move(device_->create_event()).value();
  auto join = std::move(device_->create_event()).value();
  ASSERT_TRUE(stream_->begin_capture());
  ASSERT_TRUE(launch(*stream_, *increment_, {}, counter_.as<unsigned>()));
  ASSERT_TRUE(stream_->record(*fork));
  ASSERT_TRUE(other->wait(*fork));
  ASSERT_TRUE(launch(*other, *increment_, {}, counter_.as<unsigned>()));
  ASSERT_TRUE(other->record(*join));
  ASSERT_TRUE(stream_->wait(*join));
  auto graph = stream_->end_capture();
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(count(), 0u) << "capturing must not run anything";
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(stream_->launch(**graph));
  EXPECT_EQ(count(), 6u);
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

TEST_F(Gpu, MoreMemoryThanThereIsIsRefusedAndTheDeviceLivesOn) {
  const auto buffer = device_->allocate(std::size_t{1} << 45, MemoryKind::device);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().kind, ErrorKind::exhausted);
  ASSERT_TRUE(launch(*stream_, *increment_, {}, counter_.as<unsigned>()));
  EXPECT_EQ(count(), 1u);
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
