// assay tune finds the best environment variables for a benchmark and proves them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/json_lines.h"
#include "e2e/process.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> on_fake = {
    "tune",      "memory",    "op=copy",
    "dtype=f64", "cache=hot", "ASSAY_FAKE=launch=2e-4,launch=5e-5",
    "--device",  "fake",      "--budget",
    "300ms",     "--pairs",   "6"};
const Process::Environment usual = {{"ASSAY_FAKE", "launch=1e-4"}};

std::vector<std::string> with(std::vector<std::string> words, std::vector<std::string> more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Tune, TheBestIsFoundAndProven) {
  Process process(with(on_fake, {"size=1MiB"}), usual);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(
      outcome.out,
      AllOf(HasSubstr("3 of 3 settings tried"), ContainsRegex("launch=2e-4 .*-(49|50)\\.[0-9]%"),
            ContainsRegex(
                "ASSAY_FAKE=launch=5e-5: (1\\.9[0-9]*|2\\.0[0-9]*) times as fast as the default"),
            HasSubstr("in 6 pairs of new runs: better, proven"), Not(HasSubstr("in the proof"))))
      << outcome.err;
  // One run decides among three settings; then the proof.
  const std::string records = Process::read(process.folder() / "tuning/records.jsonl");
  EXPECT_EQ(std::count(records.begin(), records.end(), '\n'), 3 + 2 * 6);
}

TEST(Tune, EachCellOfTheProofIsShown) {
  const TemporaryFolder folder;
  const auto words = with(on_fake, {"size=4KiB,1MiB", "--out", (folder.path() / "t").string()});
  const Outcome outcome = assay_run(words, usual);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("in the proof"), ContainsRegex("size=4KiB .*better"),
                                 ContainsRegex("size=1MiB .*better")));
  // What was measured is not measured again.
  const Outcome again = assay_run(with(words, {"--json"}), usual);
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("after 15 runs"));
  const Json json = json_lines(again.out).front();
  EXPECT_EQ(json["finalists"][0]["settings"], Json({{"ASSAY_FAKE", "launch=5e-5"}}));
  EXPECT_EQ(json["proof"]["better"], true);
  const Outcome other = assay_run(with(words, {"X=1"}), usual);
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("was begun with another plan"));
  const Outcome report = assay_run({"report", (folder.path() / "t").string(), "--output",
                                    (folder.path() / "report.html").string()});
  EXPECT_EQ(report.status, 0) << report.err;
}

TEST(Tune, EveryCombinationIfAsked) {
  const Outcome outcome =
      assay_run(with(on_fake, {"size=1MiB", "X=1,2", "--combine", "--runs", "12"}), usual);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr(" of 9 settings tried"), HasSubstr("better, proven")));
}

TEST(Tune, TooFewPairsToProveAnythingAreRefused) {
  for (const char* pairs : {"4", "7", "many"}) {
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"tune", "memory", "op=copy", "X=1", "--pairs", pairs},
          {"tune", "serve", "server {port}", "x=1", "--pairs", pairs, "--", "--requests", "9"}}) {
      const Outcome outcome = assay_run(words);
      EXPECT_EQ(outcome.status, 2);
      EXPECT_THAT(
          outcome.err,
          HasSubstr("allowed: even numbers from 6 to 1000, since fewer pairs prove nothing"));
    }
  }
}

TEST(Tune, WhatCannotBeTriedIsSaid) {
  const Outcome none = assay_run({"tune", "memory", "--device", "fake"});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("name variables and their values"));
  const Outcome axis = assay_run({"tune", "memory", "opp=copy", "X=1"});
  EXPECT_EQ(axis.status, 2);
  EXPECT_THAT(axis.err, HasSubstr("has no axis \"opp\""));
  const std::pair<std::vector<std::string>, std::string> refused[] = {
      {{"tune", "command", "plan.yaml", "--pairs", "6"}, "tune command has no option --pairs"},
      {{"tune", "memory", "X=1", "--suite", "toy"},
       "tune has no option --suite; assay tune conv has"},
      {{"tune", "serv", "x"}, "cannot tune \"serv\" (did you mean \"serve\"?)"},
      {{"tune conv", "c=3"}, "unknown command \"tune conv\""},
      {{"tune", "-", "command"}, "bad axis setting \"command\""},
      {{"tune", "--", "command", "missing.yaml"}, "missing.yaml"},
      {{"tune", "--json", "conv", "n=1", "--tokens"}, "tune conv has no option --tokens"},
      {{"tune", "--out", "gemm", "serve", "--ranks", "2"}, "tune serve has no option --ranks"},
      {{"tune", "gemm", "shape=16", "--runs", "20"},
       "--runs does not apply to gemm without a VARIABLE"},
      {{"tune", "conv", "n=1", "--hosts", "a"},
       "--hosts does not apply to conv without a VARIABLE"},
      {{"tune", "gemm", "X=1", "--rotate", "1MiB"},
       "--rotate does not apply to tuning a VARIABLE"}};
  for (const auto& [words, said] : refused) {
    const Outcome option = assay_run(words);
    EXPECT_EQ(option.status, 2);
    EXPECT_THAT(option.err, HasSubstr(said));
  }
  const Outcome runs = assay_run({"tune", "memory", "X=1", "--runs", "1"});
  EXPECT_EQ(runs.status, 2);
  EXPECT_THAT(runs.err,
              HasSubstr("--runs \"1\" is not allowed; allowed: whole numbers from 10 to 100000"));
}

}  // namespace
}  // namespace assay
