#include "cli/judge/campaign_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(CampaignText, SaysHowToContinueIfALimitCameFirst) {
  CampaignOutcome outcome;
  outcome.pairs = 60;
  outcome.precise = 2;
  outcome.contrasts = 6;
  for (const CampaignStop stop : {CampaignStop::budget, CampaignStop::most_pairs}) {
    outcome.stop = stop;
    EXPECT_THAT(campaign_text(outcome, 0, 180),
                HasSubstr("\n2 of 6 cells are precise enough; the same command with --pairs 120 "
                          "continues\n"));
  }
  outcome.pairs = 6'000;
  EXPECT_THAT(campaign_text(outcome, 0, 180), HasSubstr("with --pairs 10000 continues\n"));
  outcome.pairs = 10'000;
  EXPECT_THAT(campaign_text(outcome, 0, 180), Not(HasSubstr("continues")));
  outcome.precise = 6;
  EXPECT_THAT(campaign_text(outcome, 0, 180), Not(HasSubstr("--pairs")));
  outcome.stop = CampaignStop::interrupted;
  outcome.precise = 2;
  EXPECT_THAT(campaign_text(outcome, 0, 180), Not(HasSubstr("--pairs")));
}

}  // namespace
}  // namespace assay::cli
