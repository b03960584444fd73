// What is shown of a test for silent data corruption.
#include "cli/advise/health_sdc_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/advise/health_device.h"

namespace assay::cli {
namespace {

using testing::HasSubstr;

std::string text_of(const health::PowerSeen& power) {
  health::SdcOutcome outcome;
  outcome.coverage.emplace_back().power = power;
  return sdc_text(outcome, 100, Style(false));
}

TEST(HealthSdcView, SaysForHowLongThePowerLimitIsUnknown) {
  health::PowerSeen power{.seconds = 100, .limited_seconds = 20};
  EXPECT_THAT(text_of(power), HasSubstr("; at the power limit in 0:20 of 1:40 (20%)."));
  power.unknown_seconds = 60;
  EXPECT_THAT(text_of(power),
              HasSubstr("; at the power limit in 0:20 of 0:40 (50%), unknown in 1:00 more."));
  power.limited_seconds.reset();
  EXPECT_THAT(text_of(power), HasSubstr("; time at the power limit unknown."));
}

/// Logs get a line when the test begins, and then at most one in 15 s or in a hundredth of the
/// test.
TEST(HealthSdcView, ALogGetsFewLinesOfProgress) {
  SdcProgressLines minutes;
  EXPECT_EQ(minutes.next({.seconds = 0, .of = 150, .unit = "copy"}),
            "[0:00/2:30]  2:30 left  copy\n");
  EXPECT_EQ(minutes.next({.seconds = 14, .of = 150, .unit = "copy"}), "");
  EXPECT_EQ(minutes.next({.seconds = 16, .of = 150, .unit = "gemm", .differences = 2}),
            "[0:16/2:30]  2:14 left  2 differences; gemm\n");
  EXPECT_EQ(minutes.next({.seconds = 30, .of = 150, .unit = "gemm"}), "");
  EXPECT_EQ(minutes.next({.seconds = 151, .of = 150, .unit = "gemm"}),
            "[2:31/2:30]  0:00 left  gemm\n");
  SdcProgressLines hours;
  int lines = 0;
  for (int second = 0; second < 7200; ++second) {
    lines += hours.next({.seconds = 1.0 * second, .of = 7200, .unit = "gemm"}).empty() ? 0 : 1;
  }
  EXPECT_EQ(lines, 100);
}

}  // namespace
}  // namespace assay::cli
