#include "statistics/time_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(TimeRanges, AUnionMergesWhatOverlapsOrTouchesAndIgnoresTheEmpty) {
  EXPECT_THAT(union_of({{30, 40}, {0, 10}, {10, 12}, {5, 8}, {50, 50}, {60, 55}}),
              ElementsAre(TimeRange{0, 12}, TimeRange{30, 40}));
}

TEST(TimeRanges, ADifferenceHasOnlyTheTimesOfTheFirst) {
  const TimeRanges set = {{0, 10}, {20, 30}, {40, 50}};
  EXPECT_THAT(minus(set, {{2, 4}, {8, 22}, {25, 26}, {29, 60}}),
              ElementsAre(TimeRange{0, 2}, TimeRange{4, 8}, TimeRange{22, 25}, TimeRange{26, 29}));
  EXPECT_EQ(minus(set, {}), set);
  EXPECT_THAT(minus(set, {{0, 50}}), IsEmpty());
  // One range may leave holes in several, and several in one.
  EXPECT_THAT(minus({{0, 4}, {4, 8}}, {{3, 5}}), ElementsAre(TimeRange{0, 3}, TimeRange{5, 8}));
}

TEST(TimeRanges, AWindowCutsRanges) {
  EXPECT_THAT(within({{0, 10}, {20, 30}, {40, 50}}, {5, 25}),
              ElementsAre(TimeRange{5, 10}, TimeRange{20, 25}));
  EXPECT_EQ(size_of({{5, 10}, {20, 25}}), 10);
}

TEST(TimeRanges, ASumStopsAtTheLargestNumber) {
  EXPECT_EQ(add_saturated(INT64_MAX - 1, 5), INT64_MAX);
  EXPECT_EQ(add_saturated(INT64_MIN + 1, -5), INT64_MIN);
  EXPECT_EQ(add_saturated(-2, 5), 3);
}

}  // namespace
}  // namespace assay
