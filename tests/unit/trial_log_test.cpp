#include "tune/trial_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "temporary_folder.h"

namespace assay {
namespace {

using testing::HasSubstr;

const Cell tiles_of_32("tiles", {{"block", "32"}}), tiles_of_64("tiles", {{"block", "64"}});

TrialLog::Measure time_of(double seconds, int* calls = nullptr) {
  return [=](Record record) -> Result<Record> {
    if (calls != nullptr) ++*calls;
    record.status = RecordStatus::passed;
    record.metrics.push_back({"time", seconds, "s", Better::lower, ""});
    record.source = Source{"bench", "", "bench", 0};
    return record;
  };
}

TEST(TrialLog, GivesKeptRunsAgainInsteadOfMeasuring) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "tuning";
  double seconds = 0;
  {
    auto log = TrialLog::open(path, "name: x\n", Json::object());
    ASSERT_TRUE(log.ok()) << log.error().message;
    EXPECT_EQ(log->kept(), 0u);
    ASSERT_TRUE(log->run("search", tiles_of_32, time_of(1.5)).ok());
    const auto failed = log->run("search", tiles_of_64, [](Record) -> Result<Record> {
      return Error{ErrorKind::failed, "it ended with 134"};
    });
    ASSERT_TRUE(failed.ok());  // a failure is a result
    EXPECT_EQ(failed->reason, "it ended with 134");
    const auto stopped = log->run("search", tiles_of_32, [](Record) -> Result<Record> {
      return Error{ErrorKind::interrupted, "stopped"};
    });
    EXPECT_FALSE(stopped.ok());
    seconds = log->seconds();
  }
  auto log = TrialLog::open(path, "name: x\n", Json::object());
  ASSERT_TRUE(log.ok()) << log.error().message;
  EXPECT_EQ(log->kept(), 2u);
  int calls = 0;
  const auto again = log->run("search", tiles_of_32, time_of(9, &calls));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->metrics.front().value, 1.5);
  EXPECT_EQ(log->run("search", tiles_of_64, time_of(9, &calls))->reason, "it ended with 134");
  EXPECT_EQ(calls, 0);
  EXPECT_NEAR(log->seconds(), seconds, 0.0021);
  EXPECT_EQ(log->run("proof", tiles_of_32, time_of(2, &calls))->metrics.front().value, 2);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(log->runs(), 3u);
  // Each run is a unit of its own.
  const auto stored = read_records(path);
  ASSERT_TRUE(stored.ok());
  ASSERT_EQ(stored->records.size(), 3u);
  EXPECT_NE(stored->records[0].run, stored->records[2].run);
  EXPECT_TRUE(is_trial(stored->records[0]));
  EXPECT_FALSE(is_trial(stored->records[2]));
}

TEST(TrialLog, RefusesWhatDoesNotGoOn) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "tuning";
  {
    auto log = TrialLog::open(path, "name: x\nseed: 1\n", Json::object());
    ASSERT_TRUE(log.ok());
    ASSERT_TRUE(log->run("search", tiles_of_32, time_of(1)).ok());
    const auto busy = TrialLog::open(path, "name: x\nseed: 1\n", Json::object());
    ASSERT_FALSE(busy.ok());
    EXPECT_THAT(busy.error().message, HasSubstr("is in use by another assay tune"));
  }
  const auto other = TrialLog::open(path, "name: x\nseed: 2\n", Json::object());
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message,
              HasSubstr("was begun with another plan: tuning.yaml:2: was \"seed: 1\", is \"seed: "
                        "2\"; restore the plan, or give another folder with --out"));
  auto log = TrialLog::open(path, "name: x\nseed: 1\n", Json::object());
  ASSERT_TRUE(log.ok());
  const auto wrong = log->run("search", tiles_of_64, time_of(1));
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message,
              HasSubstr("run 1 is of \"tiles block=32\", and the search, of another version of "
                        "assay maybe, asks for \"tiles block=64\""));
  folder.write("full/notes.txt", "mine");
  const auto foreign = TrialLog::open(folder.path() / "full", "name: x\n", Json::object());
  ASSERT_FALSE(foreign.ok());
  EXPECT_THAT(foreign.error().message, HasSubstr("holds notes.txt and is not a tuning"));
}

}  // namespace
}  // namespace assay
