#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <latch>

#include "compute/device/helpers.h"
#include "core/thread_pool.h"
#include "support/device_contract.h"

namespace assay {
namespace {

class CpuBackend : public DeviceContract {
 protected:
  void SetUp() override { open("cpu"); }
};

TEST_F(CpuBackend, AWaitHoldsTheOtherStreamBack) {
  a_wait_holds_the_other_stream_back();
}
TEST_F(CpuBackend, AGateThatNobodyOpensGivesUpAfterASecond) {
  a_gate_that_nobody_opens_gives_up_after_a_second();
}
TEST_F(CpuBackend, EventsAgreeWithTheHostClock) {
  events_agree_with_the_host_clock(30, 2);  // on a busy machine a thread may wait for its turn
}
TEST_F(CpuBackend, GraphReplaysTwoStreamsInOrder) {
  a_graph_replays_two_streams_in_order();
}
TEST_F(CpuBackend, MoreMemoryThanThereIsIsRefusedAndTheDeviceLivesOn) {
  more_memory_than_there_is_is_refused();
}

TEST_F(CpuBackend, AGraphTakesANewCapture) {
  a_graph_takes_a_new_capture();
}
TEST_F(CpuBackend, EventsInAGraphHaveTheTimesOfEachReplay) {
  events_in_a_graph_have_the_times_of_each_replay(0);
}
TEST_F(CpuBackend, AnUntimedEventOrdersAndHasNoTime) {
  an_untimed_event_orders_and_has_no_time();
}
TEST_F(CpuBackend, ProgrammaticLaunchesKeepTheirOrder) {
  programmatic_launches_keep_their_order(100'000);
}
TEST_F(CpuBackend, ClustersAreRefused) {
  clusters_are_refused();
}
TEST_F(CpuBackend, TensorMapsAreRefused) {
  tensor_maps_are_refused();
}

/// Freeing waits, as it does on GPUs: whoever gives up half-way frees what queued work still uses.
TEST_F(CpuBackend, FreedMemoryStaysUntilWorkQueuedBeforeHasRun) {
  for (const MemoryKind kind : {MemoryKind::device, MemoryKind::peer}) {
    constexpr std::size_t bytes = 4096;
    Buffer buffer = std::move(device_->allocate(bytes, kind)).value();
    void* const address = buffer.data();
    unsigned char resident = 0;
    const auto is_mapped = [&] { return mincore(address, bytes, &resident) == 0; };
    std::latch freed(1);
    ASSERT_TRUE(stream_->call([&] { freed.wait(); }));
    ASSERT_TRUE(stream_->fill(address, 7, bytes));
    int last = 0;
    ASSERT_TRUE(stream_->call([&] { last = *static_cast<const unsigned char*>(address); }));
    buffer = Buffer();
    EXPECT_TRUE(is_mapped());
    freed.count_down();
    ASSERT_TRUE(stream_->synchronize());
    EXPECT_EQ(last, 7);
    EXPECT_FALSE(is_mapped());
  }
}

/// Anyone may wait for it, also more than once.
TEST_F(CpuBackend, AWaitForAnEventEndsInTimeOrWhenItIsDone) {
  using std::chrono::milliseconds;
  std::latch goes_on(1);
  const auto event = device_->create_event().value();
  EXPECT_TRUE(event->done_within(milliseconds(0)).value());  // was never recorded
  ASSERT_TRUE(stream_->call([&] { goes_on.wait(); }));
  ASSERT_TRUE(stream_->record(*event));
  EXPECT_FALSE(event->done_within(milliseconds(5)).value());
  goes_on.count_down();
  EXPECT_TRUE(event->done_within(std::chrono::minutes(1)).value());
  EXPECT_TRUE(event->done_within(milliseconds(0)).value());
}

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

TEST_F(CpuBackend, WrongArgumentsAreAnError) {
  const auto status = launch(*stream_, *increment_, {}, counter_.as<unsigned>(), 3);
  ASSERT_FALSE(status);
  EXPECT_THAT(
      status.error().message,
      testing::HasSubstr("arguments of 8, 4 bytes given to a kernel with parameters of 8 "));
  EXPECT_FALSE(launch(*stream_, *increment_, {}, 3));
  void* pointers[] = {nullptr, nullptr};
  EXPECT_FALSE(stream_->launch(*increment_, {}, pointers));
}

TEST(ThreadPool, EveryWorkerRunsOncePerRound) {
  ThreadPool pool({0, 0, 0, 0});
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

}  // namespace
}  // namespace assay
