#include "cli/progress.h"

#include <gtest/gtest.h>

#include "cli/table.h"

namespace assay::cli {
namespace {

const Style plain(false);

TEST(Progress, TimeLeftIsTheAverageTimesWhatIsLeft) {
  EXPECT_DOUBLE_EQ(seconds_left({.done = 5, .total = 20, .elapsed_seconds = 10}), 30);
  EXPECT_DOUBLE_EQ(seconds_left({.done = 0, .total = 4, .elapsed_seconds = 0}), 12);
  EXPECT_DOUBLE_EQ(seconds_left({.done = 20, .total = 20, .elapsed_seconds = 10}), 0);
}

TEST(Progress, TheBudgetBoundsTheTimeLeft) {
  EXPECT_DOUBLE_EQ(
      seconds_left({.done = 5, .total = 20, .elapsed_seconds = 10, .budget_seconds = 25}), 15);
  EXPECT_DOUBLE_EQ(
      seconds_left({.done = 5, .total = 20, .elapsed_seconds = 30, .budget_seconds = 25}), 0);
}

TEST(Progress, LineHoldsBarCountTimeAndCell) {
  const Progress progress{.done = 12,
                          .total = 24,
                          .elapsed_seconds = 21,
                          .budget_seconds = {},
                          .label = "memory op=triad"};
  EXPECT_EQ(progress_line(progress, 80, plain),
            "[############------------]  12/24  0:21 left  memory op=triad");
}

TEST(Progress, NeverLongerThanTheTerminal) {
  const Progress progress{.done = 7,
                          .total = 1200,
                          .elapsed_seconds = 60,
                          .budget_seconds = {},
                          .label = "memory op=triad size=1GiB dtype=f64 cache=cold"};
  for (std::size_t width = 1; width < 120; ++width) {
    EXPECT_LE(display_width(progress_line(progress, width, plain)), width);
  }
  EXPECT_EQ(progress_line(progress, 40, plain), "   7/1200  2:50:26 left  memory op=tr...");
}

}  // namespace
}  // namespace assay::cli
