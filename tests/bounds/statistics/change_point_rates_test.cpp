#include <gtest/gtest.h>

#include "support/simulated_series.h"

namespace assay {
namespace {

/// docs/method.md has what bench_change_point_rates printed.
TEST(ChangePointRates, FalseAlarmsAreAsDocumented) {
  EXPECT_NEAR(simulate_series({}, {}, 2000, 1).any, 0.0225, 0.012);
  EXPECT_LE(simulate_series({}, {.p = 1e-4}, 2000, 1).any, 0.006)
      << "a tenth of p gives about a tenth of the alarms";
  EXPECT_GT(simulate_series({.autocorrelation = 0.5}, {}, 500, 1).any, 0.35)
      << "dependent runs raise alarms; if fewer now do, update docs/method.md";
}

TEST(ChangePointRates, StepsAreFoundAsDocumented) {
  EXPECT_NEAR(simulate_series({.step = 1}, {}, 500, 1).found, 0.47, 0.07);
  EXPECT_GT(simulate_series({.step = 2}, {}, 500, 1).found, 0.88);
  EXPECT_GT(simulate_series({.step = 3}, {}, 500, 1).found, 0.97);
  EXPECT_GT(simulate_series({.step = 5, .step_at = 58}, {}, 500, 1).found, 0.95);
}

}  // namespace
}  // namespace assay
