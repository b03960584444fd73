// A launch on the CPU allocates nothing; the program's operator new is replaced to count.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <latch>
#include <new>

#include "support/test_device.h"

namespace {
std::atomic<std::uint64_t> allocations = 0;
}

void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace assay {
namespace {

TEST(CpuLaunch, TakesNoHeap) {
  const auto device = open_test_device("cpu");
  const auto stream = std::move(device->create_stream()).value();
  const auto program = std::move(device->build({"memory", {}})).value();
  Kernel& kernel = *program->kernel("copy_f32").value();
  constexpr std::uint64_t n = 1000;
  const Buffer to = std::move(device->allocate(4 * n, MemoryKind::device)).value();
  const Buffer from = std::move(device->allocate(4 * n, MemoryKind::device)).value();
  const auto launch_some = [&] {
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(launch(*stream, kernel, {{4}, {1}, 64}, to.as<float>(), from.as<float>(),
                         from.as<float>(), n, 0));
    }
  };
  // The first launches wait until all are queued: the queue grows to its size, and when they run
  // the workers allocate their shared memory.
  std::latch queued(1);
  ASSERT_TRUE(stream->call([&] { queued.wait(); }));
  launch_some();
  queued.count_down();
  ASSERT_TRUE(stream->synchronize());
  const std::uint64_t before = allocations;
  EXPECT_GT(before, 0u);  // the counter works
  launch_some();
  ASSERT_TRUE(stream->synchronize());
  EXPECT_EQ(allocations - before, 0u);
}

}  // namespace
}  // namespace assay
