// The deadline of .ci/run (scripts/ci_steps.sh), with seconds instead of minutes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/process.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

/// Whether the process ends within ten seconds. Who inherited it may not have noticed yet: then it
/// is a zombie.
bool process_ends(pid_t process) {
  const std::string status = "/proc/" + std::to_string(process) + "/stat";
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const std::string text = Process::read(status);
    if (::kill(process, 0) != 0 || text.find(") Z ") != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// A run of steps that are shell commands. `last_end`: no step may end after this many seconds;
/// `stop`: the running one is ended then.
class CiSteps : public testing::Test {
 protected:
  Outcome run(const std::string& steps, int last_end, int stop,
              const Process::Environment& variables = {}) {
    const std::string script = "set -u; cd '" + folder_.path().string() + "'; mkdir -p build; . '" +
                               ASSAY_SOURCE_DIR
                               "/scripts/ci_steps.sh'; ci_state=state ci_last_end=" +
                               std::to_string(last_end) + " ci_stop=" + std::to_string(stop) +
                               "\n" + steps + "\nrun_steps\n";
    return Process({"-c", script}, variables, "", "/bin/bash").wait();
  }
  /// Writes down that `label` took this long and counted this many tests the last time.
  void remember(const std::string& label, int seconds, int tests) {
    std::filesystem::create_directories(folder_.path() / "state");
    std::ofstream(folder_.path() / "state/durations", std::ios::app)
        << seconds << '\t' << tests << '\t' << label << '\n';
  }

  TemporaryFolder folder_;
};

TEST_F(CiSteps, CountsAreAddedUp) {
  const Outcome outcome =
      run("step three echo '2 passed, 1 failed, 4 skipped'\n"
          "step one true\n"
          "step 'fails after its count' sh -c 'echo 5 passed, 0 failed; exit 1'",
          10, 20);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, EndsWith("\n8 passed, 2 failed, 4 skipped\n"));
}

TEST_F(CiSteps, AStepThatWouldEndTooLateIsNamedAndCountedAsSkipped) {
  remember("long", 60, 12);
  const Outcome outcome = run("step long echo '12 passed, 0 failed'\nstep short true", 50, 70);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(
      outcome.out,
      AllOf(HasSubstr("-- long: LEFT OUT, it would not end in time (12 tests; its last run took "
                      "60 s)\n"),
            HasSubstr("-- short: ok"), EndsWith("\n1 passed, 0 failed, 12 skipped\n")));
}

TEST_F(CiSteps, AtTheDeadlineTheRunningStepIsEndedWithAllItStarted) {
  const Outcome outcome =
      run("step endless sh -c 'trap \"\" TERM; sleep 300 & echo $! >child; wait'\n"
          "step after true",
          1, 2);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("-- endless: LEFT OUT, ended by the deadline after "),
                                 EndsWith("\n0 passed, 0 failed, 2 skipped\n")));
  const std::string child = Process::read(folder_.path() / "child");
  EXPECT_TRUE(process_ends(std::stoi(child))) << "a program of the ended step still runs";
}

TEST_F(CiSteps, ATestThatFailedBeforeTheDeadlineHasFailed) {
  const Outcome outcome = run(
      "step endless sh -c 'echo \"[  FAILED  ] A.Test (1 ms)\" >build/shard-1; sleep 300'", 1, 2);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, EndsWith("\n0 passed, 1 failed, 1 skipped\n"));
}

TEST_F(CiSteps, WhatWasLeftOutComesFirstTheNextTime) {
  remember("second", 60, 1);
  run("step first true\nstep second true\nstep third true", 50, 70);
  std::filesystem::remove(folder_.path() / "state/durations");
  const std::string next = run("step first true\nstep second true\nstep third true", 50, 70).out;
  EXPECT_LT(next.find("== second"), next.find("== first"));
  EXPECT_LT(next.find("== first"), next.find("== third"));
  const std::string after = run("step first true\nstep second true\nstep third true", 50, 70).out;
  EXPECT_LT(after.find("== first"), after.find("== second"));
}

TEST_F(CiSteps, EverythingRunsIfThatIsAskedFor) {
  remember("long", 60, 1);
  const Outcome outcome = run("step long true\nstep longer sleep 2", 1, 1, {{"ASSAY_CI_ALL", "1"}});
  EXPECT_THAT(outcome.out, AllOf(Not(HasSubstr("LEFT OUT")), EndsWith("\n2 passed, 0 failed\n")));
}

TEST_F(CiSteps, DurationsAreKeptAtOnce) {
  run("step a sleep 1\nstep 'b c' echo '7 passed, 0 failed'", 10, 20);
  const std::string durations = Process::read(folder_.path() / "state/durations");
  EXPECT_THAT(durations, AllOf(HasSubstr("\t1\ta\n"), HasSubstr("\t7\tb c\n")));
}

}  // namespace
}  // namespace assay
