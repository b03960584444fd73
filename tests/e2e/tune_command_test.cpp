// assay tune command finds the best values of a program's parameters, proves them, and goes on
// where it was killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json_lines.h"
#include "process.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A program whose time is least, 1000 us, at a=3 b=5; a=7 crashes, and a=6 b=6 hangs. Nothing in
/// it is random, so that a search always takes the same course.
std::string plan_of(const std::string& time, const std::string& more) {
  return R"(name: valley
command: [sh, -c, 'a=$1; b=$2; case $a$b in 7*) echo "no memory" >&2; exit 9;; 66) sleep 100;; esac;
  )" + time +
         R"(', program, '{a}', '{b}']
metrics: [{name: time, regex: 'time: (\S+) us', unit: us, better: lower}]
timeout: 1s
parameters: {a: 0..7+1, b: 0..7+1}
budget: {runs: 40}
pairs: {least: 6, most: 8}
)" + more;
}
const std::string valley =
    plan_of("echo \"time: $((1000 + 40 * (a - 3) * (a - 3) + 30 * (b - 5) * (b - 5))) us\"", "");

TEST(TuneCommand, FindsAndProvesTheBest) {
  const TemporaryFolder folder;
  const auto plan = folder.write("plan.yaml", valley);
  const auto out = (folder.path() / "out").string();
  const Outcome outcome = assay_run({"tune", "command", plan.string(), "--out", out});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("64 settings tried in "), HasSubstr("sh ended with 9: no memory"),
                    HasSubstr("a=3 b=5: 2.110 times the usual"), HasSubstr("pairs of fresh runs"),
                    HasSubstr("better, proven")))
      << outcome.err;
  const Outcome again = assay_run({"tune", "command", plan.string(), "--out", out, "--json"});
  EXPECT_EQ(again.status, 0) << again.err;
  const Json json = json_lines(again.out).front();
  EXPECT_EQ(json["usual"], Json({{"a", "0"}, {"b", "0"}}));
  EXPECT_LE(json["runs"], 40);
  EXPECT_EQ(json["finalists"][0]["settings"], Json({{"a", "3"}, {"b", "5"}}));
  EXPECT_EQ(json["proof"]["better"], true);
  EXPECT_EQ(json["proof"]["verdict"], "FASTER");
  EXPECT_THAT(again.err, HasSubstr("going on after "));
}

TEST(TuneCommand, KilledAtAnyMomentItGoesOnWhereItWas) {
  const TemporaryFolder folder;
  const auto plan = folder.write("plan.yaml", valley);
  const Outcome whole = assay_run(
      {"tune", "command", plan.string(), "--out", (folder.path() / "whole").string(), "--json"});
  ASSERT_EQ(whole.status, 0) << whole.err;
  const std::vector<std::string> words = {
      "tune", "command", plan.string(), "--out", (folder.path() / "killed").string(), "--json"};
  int kills = 0;
  for (int milliseconds = 20; kills < 25; milliseconds = (milliseconds * 7 + 13) % 211) {
    Process process(words);
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    process.signal(SIGKILL);
    if (process.wait().status != 128 + SIGKILL) break;  // it was done
    ++kills;
  }
  EXPECT_GE(kills, 3);
  const Outcome rest = assay_run(words);
  ASSERT_EQ(rest.status, 0) << rest.err;
  Json one = json_lines(whole.out).front(), other = json_lines(rest.out).front();
  one.erase("seconds");
  other.erase("seconds");
  EXPECT_EQ(one, other);
}

TEST(TuneCommand, WhereNoSettingIsBetterItSaysSo) {
  const TemporaryFolder folder;
  // The program's number differs from run to run by up to 1%, whatever its parameters.
  const auto plan = folder.write(
      "plan.yaml",
      plan_of("n=$(od -An -N1 -tu1 /dev/urandom); echo \"time: $((100000 + n * 4)) us\"",
              "seed: 3\n"));
  const Outcome outcome = assay_run({"tune", "command", plan.string()});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("no setting is better"), Not(HasSubstr("better, proven"))));
}

TEST(TuneCommand, WhatCannotBeTunedIsSaid) {
  const TemporaryFolder folder;
  const Outcome none = assay_run({"tune", "command"});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("tune command takes one plan"));
  const Outcome missing = assay_run({"tune", "command", "missing.yaml"});
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr("missing.yaml"));
  const auto failing = folder.write("plan.yaml", plan_of("echo no number", ""));
  const Outcome outcome = assay_run({"tune", "command", failing.string()});
  EXPECT_EQ(outcome.status, 4);
  EXPECT_THAT(outcome.err, HasSubstr("nothing was measured with the usual values: metric time: no "
                                     "line of its output matches"));
  const Outcome gone = assay_run({"tune", "command", "missing.yaml", "--combine"});
  EXPECT_EQ(gone.status, 2);
}

}  // namespace
}  // namespace assay
