// The launches of the memory kernels.
#include "measure/benchmarks/memory/memory_geometry.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

DeviceFacts facts_of(const char* backend) {
  DeviceFacts facts;
  facts.backend = backend;
  facts.multiprocessors = 304;
  facts.max_threads_per_block = 1024;
  facts.max_threads_per_multiprocessor = 2048;
  return facts;
}

/// HIP takes fewer than 2^32 work items; some of its releases cut larger numbers without a word.
TEST(MemoryGeometry, GridsStayWithinWhatDriversTake) {
  constexpr std::uint64_t gib = std::uint64_t{1} << 30;
  for (const unsigned block : {128u, 256u, 512u, 1024u}) {
    const MemoryGeometry geometry = {.block = block, .unroll = 1};
    for (const std::uint64_t bytes : {63 * gib, 64 * gib, 80 * gib, 1024 * gib}) {
      const LaunchShape hip = launch_shape(geometry, facts_of("hip"), bytes);
      EXPECT_LE(std::uint64_t{hip.grid.x} * block, 0xffffffffu) << block << " " << bytes;
      EXPECT_GT(hip.grid.x, 3'900'000'000u / block) << "it still fills the device";
      const LaunchShape cuda = launch_shape(geometry, facts_of("cuda"), bytes);
      EXPECT_EQ(cuda.grid.x, std::min<std::uint64_t>(bytes / 16 / block, 0x7fffffff));
    }
  }
  const LaunchShape small = launch_shape({.block = 256, .unroll = 4}, facts_of("hip"), 100 << 20);
  EXPECT_EQ(small.grid.x, 6400u);
}

}  // namespace
}  // namespace assay
