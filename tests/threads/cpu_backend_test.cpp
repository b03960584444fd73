#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "backends/cpu/thread_pool.h"
#include "device/arena.h"
#include "device/helpers.h"
#include "measure/gate.h"
#include "test_device.h"

namespace assay {
namespace {

class CpuBackend : public testing::Test {
 protected:
  CpuBackend()
      : device_(open_test_device("cpu")),
        stream_(std::move(device_->create_stream()).value()),
        program_(std::move(device_->build({"empty", {}})).value()),
        increment_(program_->kernel("increment").value()),
        counter_(std::move(device_->allocate(sizeof(unsigned), MemoryKind::device)).value()) {}

  unsigned count() const { return *counter_.as<unsigned>(); }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Program> program_;
  Kernel* increment_;
  Buffer counter_;
};

TEST_F(CpuBackend, CopiesArriveWhole) {
  for (const std::size_t bytes : {1u, 4095u, 4096u, 4097u, 1000003u}) {
    Buffer from = std::move(device_->allocate(bytes, MemoryKind::pageable)).value();
    Buffer to = std::move(device_->allocate(bytes, MemoryKind::device)).value();
    for (std::size_t i = 0; i < bytes; ++i) from.as<unsigned char>()[i] = (i * 7 + 3) & 255;
    ASSERT_TRUE(stream_->fill(to.data(), 0xEE, bytes));
    ASSERT_TRUE(stream_->copy(to.data(), from.data(), bytes));
    ASSERT_TRUE(stream_->synchronize());
    EXPECT_EQ(std::memcmp(to.data(), from.data(), bytes), 0) << bytes;
  }
}

TEST_F(CpuBackend, ArgumentsAreCopiedAtLaunch) {
  {
    unsigned* pointer = counter_.as<unsigned>();
    ASSERT_TRUE(launch(*stream_, *increment_, {}, pointer));
    pointer = nullptr;
  }
  ASSERT_TRUE(stream_->synchronize());
  EXPECT_EQ(count(), 1u);
}

TEST_F(CpuBackend, WrongArgumentCountIsAnError) {
  const auto status = launch(*stream_, *increment_, {}, counter_.as<unsigned>(), 3);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, testing::HasSubstr("2 arguments given, 1 wanted"));
}

TEST_F(CpuBackend, AWaitHoldsTheOtherStreamBack) {
  auto gate = std::move(Gate::create(*device_)).value();
  auto other = std::move(device_->create_stream(StreamPriority::high)).value();
  auto event = std::move(device_->create_event()).value();
  ASSERT_TRUE(gate.close(*stream_));
  ASSERT_TRUE(stream_->record(*event));
  ASSERT_TRUE(other->wait(*event));
  ASSERT_TRUE(launch(*other, *increment_, {}, counter_.as<unsigned>()));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(event->done().value());
  EXPECT_EQ(count(), 0u);
  gate.open();
  ASSERT_TRUE(other->synchronize());
  EXPECT_EQ(count(), 1u);
  EXPECT_FALSE(gate.gave_up());
}

TEST_F(CpuBackend, EventsMeasureWhatLiesBetween) {
  auto gate = std::move(Gate::create(*device_)).value();
  auto start = std::move(device_->create_event()).value();
  auto stop = std::move(device_->create_event()).value();
  EXPECT_FALSE(stop->seconds_since(*start));
  ASSERT_TRUE(stream_->record(*start));
  ASSERT_TRUE(gate.close(*stream_));
  ASSERT_TRUE(stream_->record(*stop));
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  gate.open();
  ASSERT_TRUE(stop->synchronize());
  const double seconds = stop->seconds_since(*start).value();
  EXPECT_GT(seconds, 0.025);
  EXPECT_LT(seconds, 5);
}

TEST_F(CpuBackend, AGateThatNobodyOpensGivesUp) {
  auto gate = std::move(Gate::create(*device_)).value();
  ASSERT_TRUE(gate.close(*stream_));
  ASSERT_TRUE(stream_->synchronize());
  EXPECT_TRUE(gate.gave_up());
}

TEST_F(CpuBackend, GraphReplaysTwoStreamsInOrder) {
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
  ASSERT_TRUE(graph);
  EXPECT_EQ(count(), 0u) << "capturing must not run anything";
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(stream_->launch(**graph));
  ASSERT_TRUE(stream_->synchronize());
  EXPECT_EQ(count(), 6u);
  ASSERT_TRUE(launch(*other, *increment_, {}, counter_.as<unsigned>()));
  ASSERT_TRUE(other->synchronize());
  EXPECT_EQ(count(), 7u) << "the joined stream is no longer capturing";
}

TEST_F(CpuBackend, MoreMemoryThanThereIsIsRefused) {
  const auto buffer = device_->allocate(std::size_t{1} << 50, MemoryKind::device);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().kind, ErrorKind::exhausted);
}

TEST(ThreadPool, EveryWorkerRunsOncePerRound) {
  cpu::ThreadPool pool({0, 0, 0, 0});
  std::atomic<int> total{0};
  for (int round = 0; round < 2000; ++round) {
    std::atomic<unsigned> seen{0};
    pool.run([&](std::size_t worker) {
      seen |= 1u << worker;
      ++total;
    });
    ASSERT_EQ(seen.load(), 15u);
  }
  EXPECT_EQ(total.load(), 8000);
}

TEST(Arena, AlignsRefusesAndReturnsToAMark) {
  auto device = open_test_device("cpu");
  Arena arena(std::move(device->allocate(1024, MemoryKind::device)).value());
  void* first = arena.allocate(10).value();
  const std::size_t mark = arena.mark();
  void* second = arena.allocate(1).value();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second) % 256, 0u);
  EXPECT_GE(static_cast<char*>(second) - static_cast<char*>(first), 10);
  const auto refused = arena.allocate(1024);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::exhausted);
  arena.release_to(mark);
  EXPECT_EQ(arena.allocate(1).value(), second);
}

}  // namespace
}  // namespace assay
