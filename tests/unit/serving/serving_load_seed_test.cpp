#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <set>

#include "serving/load.h"

namespace assay {
namespace {

TEST(LoadSeed, ComparedLoadsShareOne) {
  const LoadPoint point = {4, 0, 100};
  EXPECT_EQ(seed_of_load(7, point, 1, 3), seed_of_load(7, point, 1, 3));
  EXPECT_EQ(seed_of_load(7, point, 1, 3), seed_of_load(7, point, 1, 3, 1));
}

TEST(LoadSeed, NoTwoOtherLoadsDo) {
  constexpr double closed = std::numeric_limits<double>::infinity();
  std::set<std::uint64_t> seeds;
  std::size_t loads = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    for (const LoadPoint& point :
         {LoadPoint{closed, 8, 100}, LoadPoint{closed, 16, 100}, LoadPoint{8, 0, 100},
          LoadPoint{8, 16, 100}, LoadPoint{8, 16, 200}}) {
      for (std::size_t pass = 0; pass < 4; ++pass) {
        for (std::uint64_t pair = 0; pair < 4; ++pair) {
          for (const std::uint64_t set : {1, 2, 3}) {
            seeds.insert(seed_of_load(seed, point, pass, pair, set));
            ++loads;
          }
        }
      }
    }
  }
  EXPECT_EQ(seeds.size(), loads);
}

}  // namespace
}  // namespace assay
