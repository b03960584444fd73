// Checksums of blocks, and the patterns that test memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "advise/health/checksums.h"
#include "advise/health/memory_patterns.h"
#include "support/kernel_test.h"

namespace assay::health {
namespace {

class ChecksumKernels : public KernelTest {};

TEST_P(ChecksumKernels, ABlockHasTheSumOfItsWordsAndAFlippedBitChangesOnlyIt) {
  constexpr std::size_t words = 40'000;
  std::vector<std::uint64_t> values(words);
  for (std::size_t i = 0; i < words; ++i) values[i] = i * i * 77;
  const Buffer memory = upload(values);
  const auto at = reinterpret_cast<std::uintptr_t>(memory.data());
  // Whole words and single bytes at the end; less and more than a thread block loads at once.
  const std::vector<ChecksumBlock> blocks = {
      {at, 240'000}, {at + 240'000, 3 * 8}, {at + 240'024, 13}, {at + 250'000, 8 * 2048}};
  const Buffer table = upload(blocks), sums = allocate(blocks.size() * 8);
  auto made = Checksums::create(*device_);
  ASSERT_TRUE(made) << made.error().message;
  const auto computed = [&] {
    EXPECT_TRUE(
        made->queue(*stream_, sums.as<std::uint64_t>(), table.as<ChecksumBlock>(), blocks.size()));
    return download<std::uint64_t>(sums.data(), blocks.size());
  };
  EXPECT_TRUE(made->multiprocessors(*stream_)->empty());
  const auto before = computed();
  const auto ran = made->multiprocessors(*stream_);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_GE(ran->size(), 1u);
  EXPECT_LE(ran->size(), blocks.size());
  const auto* const host = reinterpret_cast<const char*>(values.data());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(before[i], Checksums::of(host + (blocks[i].address - at), blocks[i].bytes)) << i;
  }
  ASSERT_TRUE(made->flip(*stream_, memory.as<std::uint64_t>() + 240'024 / 8 + 1, 1ULL << 33));
  const auto after = computed();
  EXPECT_EQ(after[0], before[0]);
  EXPECT_EQ(after[1], before[1]);
  EXPECT_NE(after[2], before[2]);
  EXPECT_EQ(after[3], before[3]);
}

TEST_P(ChecksumKernels, MemoryThatDoesNotKeepAPatternIsFound) {
  auto patterns = MemoryPatterns::create(*device_);
  ASSERT_TRUE(patterns) << patterns.error().message;
  constexpr std::uint64_t bytes = 1 << 16, seed = 3;
  auto clean = patterns->run(1, bytes, seed, 2, std::nullopt);
  const auto ran = patterns->multiprocessors();
  ASSERT_TRUE(ran) << ran.error().message;
  if (!device_->facts().runs_on_host) {
    // The emulated chip of these tests has more units than its facts say.
    EXPECT_GE(ran->size(), static_cast<std::size_t>(device_->facts().multiprocessors));
  }
  ASSERT_TRUE(clean) << clean.error().message;
  EXPECT_EQ(clean->bytes, bytes);
  EXPECT_FALSE(clean->wrong);
  const auto wrong = patterns->run(
      1, bytes, seed, 2, MemoryPatterns::Planted{.pattern = 7, .offset = 4088, .mask = 0x11});
  ASSERT_TRUE(wrong && wrong->wrong);
  EXPECT_EQ(wrong->wrong->pattern, 7u);
  EXPECT_EQ(wrong->wrong->count, 1u);
  EXPECT_EQ(wrong->wrong->offset, 4088u);
  EXPECT_EQ(wrong->wrong->expected, MemoryPatterns::word(4088 / 8, 7, seed));
  EXPECT_EQ(wrong->wrong->expected ^ wrong->wrong->found, 0x11u);
  EXPECT_EQ(wrong->replays, 2);
  EXPECT_EQ(wrong->replayed, 0);
}

ASSAY_KERNEL_BUILDS(ChecksumKernels);

}  // namespace
}  // namespace assay::health
