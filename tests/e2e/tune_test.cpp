// assay tune finds the best of several settings and proves it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process.h"
#include "tune/settings.h"
#include "tune/sweep.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

TEST(Settings, EachAloneOrEveryCombination) {
  const auto a = parse_setting("NCCL_PROTO=Simple,LL");
  const auto b = parse_setting("CHANNELS=1,2,4");
  ASSERT_TRUE(a.ok() && b.ok());
  const auto alone = candidates({*a, *b}, false);
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(alone->size(), 1u + 2 + 3);
  EXPECT_EQ(text_of(alone->at(0)), "unchanged");
  EXPECT_EQ(text_of(alone->at(2)), "NCCL_PROTO=LL");
  const auto all = candidates({*a, *b}, true);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->size(), 3u * 4);
  EXPECT_EQ(text_of(all->back()), "NCCL_PROTO=LL CHANNELS=4");
  for (const char* bad : {"X", "X=", "=1"}) EXPECT_FALSE(parse_setting(bad).ok()) << bad;
  const std::vector<std::vector<Setting>> many(9, *b);
  EXPECT_FALSE(candidates(many, true).ok());
}

TEST(Trials, ASettingWithWhichACellFailsIsNoCandidate) {
  const std::vector<Trial> trials = {{{}, {{"a", 10}, {"b", 100}}, ""},
                                     {{{"X", "1"}}, {{"a", 20}}, "b: wrong result"},
                                     {{{"X", "2"}}, {{"a", 12}, {"b", 100}}, ""},
                                     {{{"X", "3"}}, {{"a", 5}, {"b", 130}}, ""}};
  EXPECT_FALSE(gain_of(trials[1], trials[0]).has_value());
  EXPECT_NEAR(*gain_of(trials[2], trials[0]), std::sqrt(1.2), 1e-12);
  EXPECT_EQ(best_of(trials), 2u);
  EXPECT_EQ(best_of({trials[0], trials[1], trials[3]}), 0u);
}

TEST(Tune, TheBestIsFoundAndProven) {
  const Outcome outcome =
      assay_run({"tune", "memory", "op=copy", "dtype=f64", "size=1MiB", "cache=hot",
                 "ASSAY_FAKE=launch=2e-4,launch=5e-5", "--device", "fake", "--budget", "300ms",
                 "--pairs", "16", "--out", "tuning"},
                {{"ASSAY_FAKE", "launch=1e-4"}});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("ASSAY_FAKE=launch=2e-4"), ContainsRegex("-(49|50)\\.[0-9]%"),
                    HasSubstr("ASSAY_FAKE=launch=5e-5"), HasSubstr("best"), HasSubstr("FASTER")))
      << outcome.err;
}

TEST(Tune, TooFewPairsToProveAnythingAreRefused) {
  for (const char* pairs : {"4", "7", "many"}) {
    const Outcome outcome = assay_run({"tune", "memory", "op=copy", "X=1", "--pairs", pairs});
    EXPECT_EQ(outcome.status, 2);
    EXPECT_THAT(outcome.err,
                HasSubstr("allowed: even numbers from 6, since fewer pairs prove nothing"));
  }
  const Outcome serve =
      assay_run({"tune", "serve", "server {port}", "x=1", "--pairs", "3", "--", "--requests", "9"});
  EXPECT_EQ(serve.status, 2);
  EXPECT_THAT(serve.err, HasSubstr("allowed: 6 to 1000, since fewer pairs prove nothing"));
}

TEST(Tune, WhatCannotBeTriedIsSaid) {
  const Outcome none = assay_run({"tune", "memory", "--device", "fake"});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("name variables and their values"));
  const Outcome axis = assay_run({"tune", "memory", "opp=copy", "X=1"});
  EXPECT_EQ(axis.status, 2);
  EXPECT_THAT(axis.err, HasSubstr("has no axis \"opp\""));
}

}  // namespace
}  // namespace assay
