#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <latch>

#include "compute/device/helpers.h"
#include "core/thread_pool.h"
#include "support/every_device.h"
#include "support/test_device.h"

namespace assay {
namespace {

class CpuBackend : public testing::Test {
 protected:
  void SetUp() override {
    device_ = open_test_device("cpu");
    stream_ = std::move(device_->create_stream()).value();
    program_ = std::move(device_->build({"empty", {}})).value();
    increment_ = program_->kernel("increment").value();
    counter_ = std::move(device_->allocate(sizeof(unsigned), MemoryKind::device)).value();
    ASSERT_TRUE(stream_->fill(counter_.data(), 0, sizeof(unsigned)));
    ASSERT_TRUE(stream_->synchronize());
  }

  /// Returns how often the kernel has run; waits for `stream_`.
  unsigned count() { return read_back<unsigned>(*stream_, counter_.data(), 1).value().front(); }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Program> program_;
  Kernel* increment_ = nullptr;
  Buffer counter_;
};

class CpuDevice : public testing::TestWithParam<const selftest::Check*> {};

TEST_P(CpuDevice, Keeps) {
  const auto device = open_test_device("cpu");
  expect_passes(*GetParam(), *device);
}
INSTANTIATE_TEST_SUITE_P(Promise, CpuDevice, testing::ValuesIn(checks_of_every_device(false)),
                         [](const auto& check) { return test_name_of(*check.param); });

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
