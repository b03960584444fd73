// What is shown of a test for silent data corruption.
#include "cli/advise/health_sdc_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace assay::cli
