// How a campaign starts assay: with which cell a unit begins.
#include "judge/campaign/unit_launch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace assay {
namespace {

/// In units that have time for `few` of the cells only, from the first one on.
std::vector<int> pairs_of_each_cell(std::size_t cells, std::size_t few, std::size_t pairs) {
  std::vector<int> counts(cells);
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    for (std::size_t i = 0; i < few; ++i) ++counts[(first_cell_of(pair, cells) + i) % cells];
  }
  return counts;
}

TEST(FirstCell, EveryCellHasItsShareOfThePairs) {
  for (const std::size_t cells : {2, 5, 16, 98}) {
    for (const std::size_t few : {cells / 4 + 1, cells / 2}) {
      const auto counts = pairs_of_each_cell(cells, few, 40);
      const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
      EXPECT_GE(*least, 1) << few << " of " << cells;
      EXPECT_LE(*most - *least, 40 * static_cast<int>(few) / static_cast<int>(cells) / 2 + 3)
          << few << " of " << cells;
    }
  }
}

TEST(FirstCell, TheFirstPairBeginsAtTheFrontAndOneCellStaysWhereItIs) {
  EXPECT_EQ(first_cell_of(0, 16), 0u);
  for (std::size_t pair = 0; pair < 100; ++pair) {
    EXPECT_EQ(first_cell_of(pair, 1), 0u);
    EXPECT_LT(first_cell_of(pair, 3), 3u);
  }
}

}  // namespace
}  // namespace assay
