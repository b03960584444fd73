#include "advise/tune/trial_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/read_file.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::HasSubstr;

const Cell first_cell("tiles", {{"block", "32"}}), second_cell("tiles", {{"block", "64"}});

TrialLog::Measure time_of(double seconds, int* calls = nullptr) {
  return [=](Record record) -> Result<std::vector<Record>> {
    if (calls != nullptr) ++*calls;
    record.status = RecordStatus::passed;
    record.metrics.push_back({"time", seconds, "s", Better::lower, ""});
    record.source = Source{"bench", "", "bench", 0};
    return std::vector{record};
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
    ASSERT_TRUE(log->run("search", "block=32", first_cell, time_of(1.5)).ok());
    const auto failed = log->run("search", "block=64", second_cell,
                                 [](const Record&) -> Result<std::vector<Record>> {
                                   return Error{ErrorKind::failed, "it ended with 134"};
                                 });
    ASSERT_TRUE(failed.ok());  // a failure is a result
    EXPECT_EQ(failed->front().reason, "it ended with 134");
    const auto stopped = log->run("search", "block=32", first_cell,
                                  [](const Record&) -> Result<std::vector<Record>> {
                                    return Error{ErrorKind::interrupted, "stopped"};
                                  });
    EXPECT_FALSE(stopped.ok());
    seconds = log->seconds();
  }
  auto log = TrialLog::open(path, "name: x\n", Json::object());
  ASSERT_TRUE(log.ok()) << log.error().message;
  EXPECT_EQ(log->kept(), 2u);
  int calls = 0;
  const auto again = log->run("search", "block=32", first_cell, time_of(9, &calls));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->front().metrics.front().value, 1.5);
  EXPECT_EQ(log->run("search", "block=64", second_cell, time_of(9, &calls))->front().reason,
            "it ended with 134");
  EXPECT_EQ(calls, 0);
  EXPECT_NEAR(log->seconds(), seconds, 0.0021);
  EXPECT_EQ(
      log->run("proof", "block=32", first_cell, time_of(2, &calls))->front().metrics.front().value,
      2);
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

TEST(TrialLog, ARunOfSeveralCellsIsKeptWholeOrNotAtAll) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "tuning";
  const TrialLog::Measure both = [](Record record) -> Result<std::vector<Record>> {
    std::vector<Record> records(2, time_of(1)(record)->front());
    records[0].run = "of a process of its own";
    records[1].cell = second_cell;
    return records;
  };
  {
    auto log = TrialLog::open(path, "name: x\n", Json::object());
    ASSERT_TRUE(log.ok());
    for (const char* setting : {"A=1", "A=2"}) {
      const auto records = log->run("search", setting, first_cell, both);
      ASSERT_TRUE(records.ok()) << records.error().message;
      ASSERT_EQ(records->size(), 2u);
      EXPECT_EQ(records->at(0).run, records->at(1).run);
    }
    EXPECT_EQ(
        log->run("search", "A=3", first_cell,
                 [](const Record&) { return Result<std::vector<Record>>(std::vector<Record>()); })
            ->front()
            .reason,
        "nothing was measured");
  }
  // Killed while the second run was being written.
  const auto file = path / "records.jsonl";
  std::string text = *read_file(file);
  const std::size_t third_line = text.find('\n', text.find('\n') + 1) + 1;
  text.resize(text.find('\n', third_line) + 1);
  std::ofstream(file) << text;
  for (const std::size_t kept : {1u, 2u}) {
    auto log = TrialLog::open(path, "name: x\n", Json::object());
    ASSERT_TRUE(log.ok());
    EXPECT_EQ(log->kept(), kept);
    EXPECT_EQ(log->run("search", "A=1", first_cell, both)->at(1).cell, second_cell);
    EXPECT_EQ(log->run("search", "A=2", first_cell, both)->size(), 2u);
  }
}

TEST(TrialLog, RefusesWhatDoesNotGoOn) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "tuning";
  {
    auto log = TrialLog::open(path, "name: x\nseed: 1\n", Json::object());
    ASSERT_TRUE(log.ok());
    ASSERT_TRUE(log->run("search", "block=32", first_cell, time_of(1)).ok());
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
  const auto wrong = log->run("search", "block=64", second_cell, time_of(1));
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message,
              HasSubstr("run 1 is of the search, \"block=32\", and the tuning, of another version "
                        "of assay maybe, asks for the search, \"block=64\""));
  folder.write("full/notes.txt", "mine");
  const auto foreign = TrialLog::open(folder.path() / "full", "name: x\n", Json::object());
  ASSERT_FALSE(foreign.ok());
  EXPECT_THAT(foreign.error().message, HasSubstr("holds notes.txt and is not a tuning"));
}

TEST(TrialLog, DamageIsNamed) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "tuning";
  {
    auto log = TrialLog::open(path, "name: x\n", Json::object());
    ASSERT_TRUE(log.ok());
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(log->run("search", "block=32", first_cell, time_of(1)).ok());
    }
  }
  std::string text = *read_file(path / "records.jsonl");
  text[text.find('\n') + 1] = '?';
  std::ofstream(path / "records.jsonl") << text;
  const auto damaged = TrialLog::open(path, "name: x\n", Json::object());
  ASSERT_FALSE(damaged.ok());
  EXPECT_THAT(damaged.error().message, HasSubstr("is damaged: records.jsonl:2: "));
}

/// A search with a limit for time takes the same course from what is kept.
TEST(TrialLog, SecondsAreTheKeptOnes) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "tuning";
  std::vector<double> seconds;
  for (int pass = 0; pass < 2; ++pass) {
    auto log = TrialLog::open(path, "name: x\n", Json::object());
    ASSERT_TRUE(log.ok());
    for (int i = 0; i < 8; ++i) {
      ASSERT_TRUE(log->run("search", "block=32", first_cell, time_of(1)).ok());
      if (pass == 0) {
        seconds.push_back(log->seconds());
      } else {
        EXPECT_EQ(log->seconds(), seconds[static_cast<std::size_t>(i)]);
      }
    }
  }
}

}  // namespace
}  // namespace assay
