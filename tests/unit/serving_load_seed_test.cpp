#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "serving/load.h"

namespace assay {
namespace {

TEST(LoadSeed, TheFirstLoadHasTheSeedOfItsCommand) {
  EXPECT_EQ(seed_of_load(7, 0), 7u);
}

TEST(LoadSeed, NoTwoLoadsOfNeighbouringCommandsShareOne) {
  std::set<std::uint64_t> seeds;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (std::size_t number = 0; number < 10; ++number) seeds.insert(seed_of_load(seed, number));
  }
  EXPECT_EQ(seeds.size(), 100u);
}

}  // namespace
}  // namespace assay
