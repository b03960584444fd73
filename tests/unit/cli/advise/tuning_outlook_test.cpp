// What --dry-run of a tuning says before anything runs.
#include "cli/advise/tuning_outlook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"

namespace assay::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

ParameterSpace space_of_values(std::size_t values) {
  Parameter block = {"block", {}, 0};
  for (std::size_t i = 0; i < values; ++i) block.values.push_back(std::to_string(16 + i));
  return *ParameterSpace::make({block, {"API_TOKEN", {"unset", "abc"}, 0}}, {});
}

TEST(TuningOutlook, SaysWhatIsTriedAndHowOften) {
  const ParameterSpace space = space_of_values(2);
  const TuningRules rules = {.runs = 60, .least_pairs = 6, .most_pairs = 8};
  const std::string text = outlook_text("bench", space, rules, {.most = 10}, 0, Style(false));
  EXPECT_THAT(text, AllOf(HasSubstr("bench: 4 settings of 2 parameters"), HasSubstr("block"),
                          HasSubstr("16"), HasSubstr("17"), HasSubstr("all settings race"),
                          HasSubstr("6 to 8 pairs, 12 to 16 runs"),
                          HasSubstr("a run is stopped after 10.00 s, so all runs take at most")));
  EXPECT_THAT(text, AllOf(HasSubstr("unset    (set)"), Not(HasSubstr("abc")))) << "a secret";
  const Json json = outlook_json("bench", space, rules, {.most = 10});
  EXPECT_EQ(json["search"]["all_race"], true);
  const double runs = json["search"]["most_runs"].get<double>();
  EXPECT_LE(runs, 60);
  EXPECT_GE(runs, 4);
  EXPECT_EQ(json["most_seconds"], 10 * (runs + 16));
}

TEST(TuningOutlook, ManySettingsAreExplored) {
  TuningRules rules = {.runs = 60, .least_pairs = 6, .most_pairs = 6};
  const ParameterSpace space = space_of_values(100);
  EXPECT_THAT(outlook_text("bench", space, rules, {}, 0, Style(false)),
              AllOf(HasSubstr("60 runs at most"), HasSubstr("6 pairs, 12 runs"),
                    Not(HasSubstr("is stopped after"))));
  // With a time budget even few settings do not all race, because a race's duration is not known.
  rules.seconds = 7200;
  const Json json = outlook_json("bench", space_of_values(2), rules, {.arrivals = 30});
  EXPECT_EQ(json["search"]["all_race"], false);
  EXPECT_EQ(json["search"]["seconds"], 7200);
  EXPECT_EQ(json["seconds_of_arrivals"], 30);
  EXPECT_FALSE(json.contains("most_seconds"));
}

}  // namespace
}  // namespace assay::cli
