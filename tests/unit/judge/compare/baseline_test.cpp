#include "judge/compare/baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "core/random.h"
#include "judge/compare/comparison.h"
#include "judge/compare/operands.h"
#include "support/accepted_runs.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::StartsWith;

class BaselineTest : public testing::Test {
 protected:
  void add(Record record, const std::string& store = "store") {
    auto target = Store::open(folder_.path() / store);
    ASSERT_TRUE(target.ok());
    record.fingerprint = *target->append_fingerprint(fingerprint_of("node7", "performance"));
    ASSERT_TRUE(target->append(record).ok());
  }
  void add_sound(int from, int to, const std::string& op = "triad") {
    for (int i = from; i < to; ++i) add(sound_record(i, usual(i), op));
  }
  std::string path(const std::string& name) const { return folder_.path() / name; }
  Result<Baseline> made(const BaselineRule& rule = {}) {
    return make_baseline({path("store")}, rule);
  }
  std::string text() {
    const auto baseline = made();
    EXPECT_TRUE(baseline.ok()) << baseline.error().message;
    return baseline_text(*baseline);
  }
  static auto left_out(const std::string& run, const std::string& reason) {
    return Contains(
        testing::AllOf(Field(&LeftOut::run, run), Field(&LeftOut::reason, HasSubstr(reason))));
  }

  TemporaryFolder folder_;
};

TEST_F(BaselineTest, SoundRunsAreAcceptedAndTheRestIsListedWithReasons) {
  add_sound(0, 12);
  Record failed = sound_record(20, 1000), unverified = sound_record(21, 1000),
         impossible = sound_record(22, 1000), throttled = sound_record(23, 1000);
  failed.status = RecordStatus::failed;
  failed.reason = "element 3 is 1";
  failed.value.reset();
  unverified.verification.reset();
  impossible.value->share = 1.3;
  for (int i = 0; i < 4; ++i)
    throttled.samples->samples[static_cast<std::size_t>(i)].throttled = true;
  for (const Record& record : {failed, unverified, impossible, throttled}) add(record);
  add(sound_record(24, 900));
  const auto baseline = made();
  ASSERT_TRUE(baseline.ok()) << baseline.error().message;
  ASSERT_EQ(baseline->results.series.size(), 1u);
  EXPECT_EQ(baseline->results.series[0].points.size(), 12u);
  EXPECT_EQ(baseline->results.units.size(), 12u);
  EXPECT_EQ(baseline->fingerprints.size(), 1u);
  EXPECT_EQ(baseline->left_out.size(), 5u);
  EXPECT_THAT(baseline->left_out, left_out("run020", "failed: element 3 is 1"));
  EXPECT_THAT(baseline->left_out, left_out("run021", "not verified"));
  EXPECT_THAT(baseline->left_out, left_out("run022", "130% of the roofline"));
  EXPECT_THAT(baseline->left_out, left_out("run023", "throttled in 4 of 30 samples"));
  EXPECT_THAT(baseline->left_out, left_out("run024", "an outlier among the runs"));
}

TEST_F(BaselineTest, ThrottledRunsCanBeAllowed) {
  for (int i = 0; i < 6; ++i) {
    Record record = sound_record(i, usual(i));
    for (Sample& sample : record.samples->samples) sample.throttled = true;
    add(record);
  }
  EXPECT_FALSE(made().ok());
  EXPECT_TRUE(made({.allow_throttled = true}).ok());
}

TEST_F(BaselineTest, ACellNeedsSixRuns) {
  add_sound(0, 5);
  const auto few = made();
  ASSERT_FALSE(few.ok());
  EXPECT_THAT(few.error().message,
              StartsWith("no cell has the 6 sound runs that a baseline needs; the most is 5"));
  add_sound(0, 6, "copy");
  const auto enough = made();
  ASSERT_TRUE(enough.ok());
  ASSERT_EQ(enough->results.series.size(), 1u);
  EXPECT_EQ(enough->results.series[0].key.cell, "memory op=copy");
  EXPECT_THAT(enough->left_out, left_out("", "5 runs left; at least 6 are needed"));
}

TEST_F(BaselineTest, OneRunFromTwoStoresCountsOnce) {
  add_sound(0, 6);
  add(sound_record(3, usual(3)), "again");
  const auto baseline = make_baseline({path("store"), path("again")}, {});
  ASSERT_TRUE(baseline.ok());
  EXPECT_EQ(baseline->results.series[0].points.size(), 6u);
  EXPECT_THAT(baseline->left_out, left_out("run003", "has a run with this id"));
}

TEST_F(BaselineTest, EnvironmentsThatAreMissingAreSaid) {
  add_sound(0, 2);
  EXPECT_THAT(load_result_set(path("store"))->problems, testing::IsEmpty());
  std::filesystem::remove(path("store") + "/fingerprints.jsonl");
  const auto set = load_result_set(path("store"));
  ASSERT_TRUE(set.ok());
  EXPECT_THAT(set->problems, testing::Contains(HasSubstr("fingerprints.jsonl lacks 1 of the 1")));
}

TEST_F(BaselineTest, CompareReadsItAndNeverSaysEqual) {
  add_sound(0, 20);
  const std::string file = folder_.write("file", text());
  const auto a = load_result_set(file), b = load_result_set(path("store"));
  ASSERT_TRUE(a.ok()) << a.error().message;
  ASSERT_TRUE(b.ok());
  EXPECT_FALSE(a->paired);
  ASSERT_EQ(a->series.size(), 1u);
  const Series &kept = a->series[0], &original = b->series[0];
  EXPECT_EQ(kept.key, original.key);
  EXPECT_EQ(kept.axes, original.axes);
  EXPECT_EQ(kept.unit, original.unit);
  EXPECT_EQ(kept.roof->rate, original.roof->rate);
  ASSERT_EQ(kept.points.size(), 20u);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(kept.points[i].value, original.points[i].value);
    EXPECT_EQ(kept.points[i].low, original.points[i].low);
    EXPECT_EQ(kept.points[i].samples, 30u);
    EXPECT_EQ(a->units[i].time, b->units[i].time);
  }
  EXPECT_EQ(a->fingerprints, b->fingerprints);
  // Both sides have the same numbers, far closer than the margin.
  const Comparison comparison = compare(*a, *b, nullptr, {});
  EXPECT_FALSE(comparison.paired);
  EXPECT_EQ(comparison.cells[0].judgement.verdict, Verdict::inconclusive);
  EXPECT_EQ(comparison.cells[0].judgement.code, "unpaired");
}

TEST_F(BaselineTest, LinesThatCannotBeReadAreNamed) {
  add_sound(0, 6);
  Record failed = sound_record(7, 1000);
  failed.status = RecordStatus::failed;
  failed.value.reset();
  failed.reason = "element 3 is 1";
  add(failed);
  std::ofstream(path("store/records.jsonl"), std::ios::app) << "rubbish\n";
  const auto baseline = made();
  ASSERT_TRUE(baseline.ok());
  EXPECT_THAT(baseline->problems,
              testing::ElementsAre(HasSubstr("store: records.jsonl:8: it is not JSON, ignored")));
}

TEST_F(BaselineTest, ABaselineIsMadeOfRunsOnly) {
  add_sound(0, 6);
  const std::string file = folder_.write("file", text());
  const auto baseline = make_baseline({file}, {});
  ASSERT_FALSE(baseline.ok());
  EXPECT_THAT(baseline.error().message, HasSubstr("is a baseline; give the results of runs"));
}

TEST_F(BaselineTest, WhatIsWrongInAFileIsNamed) {
  add_sound(0, 6);
  const Json good = Json::parse(text());
  ASSERT_TRUE(parse_baseline(good.dump(), "").ok());
  const std::vector<std::tuple<const char*, Json, const char*>> cases = {
      {"/assay_baseline", 2, "field assay_baseline is 2; this assay reads version 1"},
      {"/assay_baseline", "1", "must be a whole number"},
      {"/units", 3, "field units must be a list"},
      {"/units/2", 3, "field units[2] must be an object"},
      {"/units/1/run", "run000", "field units[1].run occurs twice"},
      {"/units/1/time", 7, "field units[1].time must be text"},
      {"/series", Json::array(), "field series must not be empty"},
      {"/series/0/metric", "", "field series[0].metric must not be empty"},
      {"/series/0/better", "neither", "field series[0].better must be one of higher, lower"},
      {"/series/0/axes/op", 1, "\"op\" must be text"},
      {"/series/0/roof/rate", -1, "field series[0].roof.rate must be above 0"},
      {"/series/0/work/0/tolerance", 2, "must be a share from 0 to 1"},
      {"/series/0/points", Json::array(), "field series[0].points has 0; at least 6 are needed"},
      {"/series/0/points/0/unit", 6, "is not the index of a unit"},
      {"/series/0/points/1/unit", 0, "is not in order"},
      {"/series/0/points/1/unit", -1, "must be a whole number"},
      {"/series/0/points/1/value", 0, "must be above 0"},
      {"/series/0/points/1/value", nullptr, "must be above 0"},
      {"/series/0/points/1/value", 2e9, "interval95 does not hold the value"},
      {"/series/0/points/1/interval95", {1}, "interval95 must be two numbers"},
      {"/series/0/points/1/throttled", 31, "is greater than samples"},
      {"/fingerprints/0/fingerprint/host/name", "other", "the file was changed"},
      {"/fingerprints/0/fingerprint", 1, "must be an object"},
  };
  for (const auto& [where, value, message] : cases) {
    Json bad = good;
    bad[Json::json_pointer(where)] = value;
    const auto read = parse_baseline(bad.dump(), "");
    ASSERT_FALSE(read.ok()) << where;
    EXPECT_THAT(read.error().message, HasSubstr(message)) << where;
  }
  Json twice = good;
  twice["series"].push_back(twice["series"][0]);
  EXPECT_THAT(parse_baseline(twice.dump(), "").error().message,
              HasSubstr("contains memory op=triad bandwidth twice"));
}

TEST_F(BaselineTest, DamagedFilesAreErrorsAndNeverCrashes) {
  add_sound(0, 6);
  const std::string good = text();
  for (std::size_t length = 0; length + 1 < good.size(); length += 7) {
    EXPECT_FALSE(parse_baseline(good.substr(0, length), "").ok()) << length;
  }
  Random random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string bad = good;
    for (int k = 0; k < 3; ++k) {
      bad[random.next() % bad.size()] = static_cast<char>(random.next() % 256);
    }
    const auto read = parse_baseline(bad, "");
    EXPECT_TRUE(read.ok() || !read.error().message.empty());
  }
  const std::string cut = folder_.write("cut", good.substr(0, 400));
  const auto loaded = load_result_set(cut);
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(loaded.error().message, StartsWith(cut + " is not a usable baseline: "));
}

}  // namespace
}  // namespace assay
