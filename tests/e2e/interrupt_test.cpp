// Signals in the middle of a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/process.h"

namespace assay {
namespace {

using testing::HasSubstr;

/// A run that would take minutes; `store` keeps its records.
std::vector<std::string> long_run(const std::string& store) {
  return {"run",      "memory", "op=all", "dtype=f64", "size=1MiB..16MiB*2",
          "--device", "fake",   "--out",  store};
}
const Process::Environment slow_device = {{"ASSAY_FAKE", "noise=0.3,sleep=0.002"}};

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

class Interrupt : public testing::TestWithParam<int> {};

TEST_P(Interrupt, ClosesTheStoreAndPrintsWhatWasMeasured) {
  const TemporaryFolder folder;
  Process process(long_run(folder.path()), slow_device);
  ASSERT_TRUE(process.wait_for_error_text("[1/35]"));
  process.signal(GetParam());
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.status, 130);
  EXPECT_THAT(outcome.err, HasSubstr("stopping; results so far are stored"));
  EXPECT_THAT(outcome.out, HasSubstr("GB/s"));
  EXPECT_THAT(outcome.out, HasSubstr("; stopped, "));
  const std::string records = Process::read(folder.path() / "records.jsonl");
  ASSERT_FALSE(records.empty());
  EXPECT_EQ(records.back(), '\n');
  EXPECT_GE(lines(records), 1u);
}

INSTANTIATE_TEST_SUITE_P(Signals, Interrupt, testing::Values(SIGINT, SIGTERM, SIGHUP));

TEST(Interrupt, TheSecondOneEndsAtOnce) {
  const TemporaryFolder folder;
  // One launch sleeps for ten minutes, during which the first signal cannot take effect.
  Process process(long_run(folder.path()), {{"ASSAY_FAKE", "sleep=600"}});
  ASSERT_TRUE(process.wait_for_error_text("memory: 35 cells"));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const auto begin = std::chrono::steady_clock::now();
  process.signal(SIGINT);
  process.wait_for_pending_signals();
  std::this_thread::sleep_for(std::chrono::milliseconds(600));  // otherwise they count as one
  process.signal(SIGINT);
  EXPECT_EQ(process.wait().status, 130);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(120));
}

/// The program timeout sends a signal to its child, and then to its whole process group.
TEST(Interrupt, TwoAtOnceCountAsOne) {
  using Clock = std::chrono::steady_clock;
  for (int tries = 0; tries < 20; ++tries) {
    const TemporaryFolder folder;
    Process process(long_run(folder.path()), slow_device);
    ASSERT_TRUE(process.wait_for_error_text("[1/35]"));
    const auto begin = Clock::now();
    process.signal(SIGTERM);
    process.wait_for_pending_signals();
    process.signal(SIGTERM);
    if (Clock::now() - begin > std::chrono::milliseconds(400)) continue;  // a busy machine
    process.wait_for_pending_signals();
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.status, 130);
    EXPECT_THAT(outcome.out, HasSubstr("; stopped, "));
    return;
  }
  GTEST_SKIP() << "this machine never sent two signals within 0.4 s";
}

TEST(Kill, LosesAtMostTheCellInProgressAndTheNextRunAppends) {
  const TemporaryFolder folder;
  std::size_t whole = 0;
  {
    Process process(long_run(folder.path()), slow_device);
    ASSERT_TRUE(process.wait_for_error_text("[2/35]"));
    process.signal(SIGKILL);
    EXPECT_EQ(process.wait().status, 128 + SIGKILL);
    whole = lines(Process::read(folder.path() / "records.jsonl"));
    EXPECT_GE(whole, 2u);
  }
  // The file looks as if the process had been killed in the middle of a write.
  std::ofstream(folder.path() / "records.jsonl", std::ios::app) << "{\"schema\":1,\"run\":\"2026";
  const Outcome next = assay_run({"run", "memory", "op=copy", "dtype=f64", "size=1MiB", "cache=hot",
                                  "--device", "fake", "--out", folder.path()});
  EXPECT_EQ(next.status, 0) << next.err;
  const Outcome shown = assay_run({"show", folder.path(), "--json"});
  EXPECT_EQ(lines(shown.out), whole + 1);
  EXPECT_EQ(shown.err, "");
}

}  // namespace
}  // namespace assay
