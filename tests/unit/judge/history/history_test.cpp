#include "judge/history/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "core/random.h"
#include "core/read_file.h"
#include "judge/history/trend.h"
#include "support/accepted_runs.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

class HistoryTest : public testing::Test {
 protected:
  std::filesystem::path file() const { return folder_.path() / "deep/history.sqlite"; }

  /// Runs as evidence, without a store.
  static Evidence evidence_of(const std::vector<Record>& records, const Json& fingerprint) {
    Evidence evidence{records, {}, {}, {}};
    const std::string id = fingerprint_id(fingerprint);
    evidence.fingerprints[id] = fingerprint;
    for (Record& record : evidence.records) record.fingerprint = id;
    return evidence;
  }
  History::Added add(const std::vector<Record>& records, const std::string& host = "node7",
                     const std::string& governor = "performance") {
    auto history = History::open_or_create(file());
    EXPECT_TRUE(history.ok()) << history.error().message;
    auto added = history->add(evidence_of(records, fingerprint_of(host, governor)));
    EXPECT_TRUE(added.ok()) << added.error().message;
    return *added;
  }
  std::vector<HistorySeries> read() {
    const auto history = History::open(file());
    EXPECT_TRUE(history.ok()) << history.error().message;
    auto series = history->read([](const HistoryKey&) { return true; });
    EXPECT_TRUE(series.ok()) << series.error().message;
    return *series;
  }
  std::vector<Trend> trends(const std::string& since = "") {
    const auto history = History::open(file());
    EXPECT_TRUE(history.ok()) << history.error().message;
    auto found = trends_of(*history, read(), {}, since);
    EXPECT_TRUE(found.ok()) << found.error().message;
    return *found;
  }
  static std::vector<Record> runs(int from, int to, double factor) {
    std::vector<Record> records;
    for (int i = from; i < to; ++i) records.push_back(sound_record(i, factor * usual(i)));
    return records;
  }

  TemporaryFolder folder_;
};

TEST_F(HistoryTest, WhatIsAddedTwiceIsThereOnce) {
  EXPECT_EQ(add(runs(0, 5, 1)).points, 5u);
  const History::Added again = add(runs(2, 7, 1));
  EXPECT_EQ(again.points, 2u);
  EXPECT_EQ(again.known, 3u);
  const auto series = read();
  ASSERT_EQ(series.size(), 1u);
  ASSERT_EQ(series[0].points.size(), 7u);
  EXPECT_EQ(series[0].key.cell(), "memory op=triad");
  EXPECT_EQ(series[0].key.better, Better::higher);
  EXPECT_EQ(series[0].points[3].run, "run003");
  EXPECT_EQ(series[0].points[3].value, 1e9 * usual(3));
}

TEST_F(HistoryTest, SeveralValuesOfOneRunAreSaid) {
  EXPECT_THAT(add(runs(0, 3, 1)).problems, testing::IsEmpty());
  const History::Added added = add({sound_record(4, 1000), sound_record(4, 1100)});
  EXPECT_THAT(added.problems,
              ElementsAre(HasSubstr("run run004 has several values of memory op=triad, of which")));
  EXPECT_EQ(added.points, 1u);
}

TEST_F(HistoryTest, PointsAreInTheOrderOfTimeHoweverTheyCame) {
  add(runs(4, 6, 1));
  add(runs(0, 2, 1));
  std::vector<std::string> order;
  const auto series = read();
  for (const HistoryPoint& point : series.front().points) order.push_back(point.run);
  EXPECT_THAT(order, ElementsAre("run000", "run001", "run004", "run005"));
}

TEST_F(HistoryTest, MachinesDevicesCellsAndMetricsAreKeptApart) {
  add(runs(0, 1, 1));
  add(runs(0, 1, 1), "node8");
  Record other = sound_record(1, 1000), partition = sound_record(2, 1000);
  other.device.uuid = "GPU-2";
  partition.device.uuid = "GPU-2";
  partition.device.partition = "CPX/NPS4";
  add({other, partition, sound_record(3, 1000, "copy")});
  EXPECT_EQ(read().size(), 5u);
}

TEST_F(HistoryTest, AMachineIsAHostInItsHypervisorAndContainer) {
  Json fingerprint = fingerprint_of("node7", "performance");
  EXPECT_EQ(machine_of(fingerprint), "node7");
  fingerprint["virtualization"] = {{"hypervisor", "kvm"}, {"container", "none"}};
  EXPECT_EQ(machine_of(fingerprint), "node7, kvm");
  fingerprint["virtualization"]["container"] = "docker";
  EXPECT_EQ(machine_of(fingerprint), "node7, kvm, docker");
  for (const Json& strange :
       {Json(), Json(3), Json({{"host", 3}}), Json({{"host", {{"name", 3}}}})}) {
    EXPECT_EQ(machine_of(strange), "unknown");
  }
}

TEST_F(HistoryTest, ValuesWithoutATimeOrALogarithmAreLeftOut) {
  Record timeless = sound_record(0, 1000), zero = sound_record(1, 0);
  timeless.time.clear();
  const History::Added added = add({timeless, zero});
  EXPECT_EQ(added.points, 0u);
  ASSERT_EQ(added.left_out.size(), 2u);
  EXPECT_THAT(added.left_out[0].reason, HasSubstr("is unknown"));
  EXPECT_THAT(added.left_out[1].reason, HasSubstr("a value of 0 cannot be compared"));
}

TEST_F(HistoryTest, AChangeComesWithItsRunItsSizeAndWhatChanged) {
  add(runs(0, 15, 1));
  add(runs(15, 30, 0.95), "node7", "powersave");
  add({sound_record(40, 1000, "copy")});
  const auto all = trends();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].changes.empty());
  const Trend& trend = all[1];
  ASSERT_EQ(trend.changes.size(), 1u);
  EXPECT_EQ(trend.changes[0].run, "run015");
  EXPECT_EQ(trend.changes[0].previous_run, "run014");
  EXPECT_NEAR(trend.changes[0].time_ratio, 1 / 0.95, 0.002) << "a lower rate means more time";
  EXPECT_TRUE(trend.changes[0].worse());
  EXPECT_TRUE(trend.changes[0].sure);
  EXPECT_TRUE(trend.got_worse());
  ASSERT_EQ(trend.changes[0].differences.size(), 1u);
  EXPECT_EQ(trend.changes[0].differences[0].path, "cpu.governor");
  EXPECT_EQ(trends("2026-01-16")[1].changes.size(), 1u);
  EXPECT_TRUE(trends("2026-01-17")[1].changes.empty());
}

TEST_F(HistoryTest, OnlyTheLatestChangeDecides) {
  add(runs(0, 15, 1));
  add(runs(15, 30, 0.95));
  add(runs(30, 45, 1.02));
  const auto all = trends();
  ASSERT_EQ(all[0].changes.size(), 2u);
  EXPECT_FALSE(all[0].got_worse());
}

TEST_F(HistoryTest, OfManySeriesOneSmallChangeIsNotSure) {
  // p is about 2e-4: below 0.001, above 0.001 / 30.
  std::vector<Record> records;
  for (int series = 0; series < 30; ++series) {
    for (int i = 0; i < 16; ++i) {
      const double factor = series == 0 && i >= 8 ? 0.9952 : 1;
      records.push_back(sound_record(i, factor * usual(i), "op" + std::to_string(series)));
    }
  }
  add(records);
  const auto all = trends();
  ASSERT_EQ(all.size(), 30u);
  ASSERT_EQ(all[0].changes.size(), 1u);
  EXPECT_LT(all[0].changes[0].p, 0.001);
  EXPECT_GT(all[0].changes[0].p, 0.001 / 30);
  EXPECT_FALSE(all[0].changes[0].sure);
  EXPECT_FALSE(all[0].got_worse());
}

TEST_F(HistoryTest, ANewerVersionAndOtherProgramsFilesAreRefused) {
  add(runs(0, 1, 1));
  {
    auto database = Database::open(file(), Database::Access::write);
    ASSERT_TRUE(database->execute("PRAGMA user_version=2").ok());
  }
  for (const bool write : {false, true}) {
    const auto history = write ? History::open_or_create(file()) : History::open(file());
    ASSERT_FALSE(history.ok());
    EXPECT_THAT(history.error().message,
                HasSubstr("has version 2 of the history's tables; this assay reads version 1"));
  }
  const auto other = folder_.path() / "other.sqlite";
  {
    auto database = Database::open(other, Database::Access::write);
    ASSERT_TRUE(database->execute("CREATE TABLE mails(id)").ok());
  }
  const auto history = History::open_or_create(other);
  ASSERT_FALSE(history.ok());
  EXPECT_THAT(history.error().message, HasSubstr("is another program's database"));
}

TEST_F(HistoryTest, WhatCannotBeOpenedIsAMistakeOfTheUserOrOfTheFileSystem) {
  for (const auto& [path, kind] : {std::pair{folder_.path() / "missing", ErrorKind::usage},
                                   {folder_.path(), ErrorKind::file}}) {
    const auto database = Database::open(path, Database::Access::look);
    ASSERT_FALSE(database.ok());
    EXPECT_EQ(database.error().kind, kind) << database.error().message;
    EXPECT_THAT(database.error().message, HasSubstr("cannot be read or written: "));
  }
}

TEST_F(HistoryTest, RowsThatNoAssayWroteAreLeftOut) {
  add(runs(0, 3, 1));
  {
    auto database = Database::open(file(), Database::Access::write);
    ASSERT_TRUE(database
                    ->execute("UPDATE point SET value='rubbish' WHERE run='run001';"
                              "INSERT INTO series(machine,device,benchmark,axes,metric,unit,better)"
                              " VALUES('m','d','b','[[[','x','s','lower'),"
                              "('m','d','b','{\"a\":1}','x','s','lower'),"
                              "('m','d','b','{}','x','s','sideways')")
                    .ok());
  }
  const auto series = read();
  ASSERT_EQ(series.size(), 1u);
  EXPECT_EQ(series[0].points.size(), 2u);
}

TEST_F(HistoryTest, DamagedFilesAreErrorsAndNeverCrashes) {
  for (int i = 0; i < 40; ++i) {
    add({sound_record(i, usual(i), "op" + std::to_string(i))});
  }
  const std::string good = *read_file(file());
  Random random(5);
  for (int i = 0; i < 60; ++i) {
    std::string bad = good.substr(0, i % 3 == 0 ? random.next() % good.size() : good.size());
    for (int k = 0; k < 200 && !bad.empty(); ++k) {
      bad[random.next() % bad.size()] = static_cast<char>(random.next() % 256);
    }
    const auto path = folder_.write("bad.sqlite", bad);
    const auto history = History::open(path);
    if (!history.ok()) {
      EXPECT_THAT(history.error().message, HasSubstr("bad.sqlite"));
      continue;
    }
    auto series = history->read([](const HistoryKey&) { return true; });
    if (series.ok()) (void)trends_of(*history, *series, {}, "");
  }
  const auto rubbish = History::open(folder_.write("bad.sqlite", std::string(9000, 'x')));
  ASSERT_FALSE(rubbish.ok());
  EXPECT_THAT(rubbish.error().message, EndsWith("; move it away and add the stores again"));
}

TEST_F(HistoryTest, WhatAKilledWriterLeftHalfDoneIsUndoneByReaders) {
  add(runs(0, 5, 1));
  auto writer = Database::open(file(), Database::Access::write);
  ASSERT_TRUE(writer.ok());
  // With so small a cache SQLite writes pages to the file before the transaction ends.
  ASSERT_TRUE(writer->execute("PRAGMA cache_size=2").ok());
  const auto transaction = Transaction::begin(*writer, Database::Access::write);
  ASSERT_TRUE(transaction.ok());
  ASSERT_TRUE(writer
                  ->execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n"
                            " WHERE i<5000) INSERT INTO point SELECT 1,'x'||i,'t',1,1,1,0,0,''"
                            " FROM n")
                  .ok());
  // The files that a kill at this moment leaves.
  const auto killed = folder_.path() / "killed.sqlite";
  std::filesystem::copy_file(file(), killed);
  std::filesystem::copy_file(file().string() + "-journal", killed.string() + "-journal");
  const auto history = History::open(killed);
  ASSERT_TRUE(history.ok()) << history.error().message;
  const auto series = history->read([](const HistoryKey&) { return true; });
  ASSERT_TRUE(series.ok()) << series.error().message;
  EXPECT_EQ(series->front().points.size(), 5u);
}

TEST_F(HistoryTest, WhatCannotBeOpenedIsNamed) {
  EXPECT_THAT(History::open(folder_.path() / "none").error().message,
              HasSubstr("there is no history at"));
  const auto blocked = folder_.write("blocked", "");
  EXPECT_THAT(History::open_or_create(blocked / "history.sqlite").error().message,
              HasSubstr("cannot create the folder"));
  EXPECT_THAT(History::open_or_create(folder_.path()).error().message,
              HasSubstr("cannot be read or written"));
}

}  // namespace
}  // namespace assay
