#include "judge/report/charts/scaling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/test_record.h"
#include "unit/report_input.h"

namespace assay::report {
namespace {

using testing::HasSubstr;

Axes cell(const std::string& ranks, const std::string& scaling, const std::string& batch = "6") {
  return {{"model", "30M"},
          {"batch", batch},
          {"ranks", ranks},
          {"scaling", scaling},
          {"parallel", ranks == "1" ? "none" : "ddp"}};
}

/// Two ranks reach 90% of twice one rank, four 80%, of which a tenth of a step is waiting.
Environment studied() {
  std::vector<Series> series;
  std::vector<Record> records;
  const auto add = [&](const Axes& axes, double rate) {
    series.push_back(series_of("train", axes, {rate}, "token_rate", "tokens/s"));
    series.push_back(series_of("train", axes, {rate / 6}, "sample_rate", "samples/s"));
    Record record = passed_record();
    record.cell = Cell("train", axes);
    record.metrics = {{"step_time", 0.5, "s", Better::neither, {}},
                      {"exchange_exposed", 0.05, "s", Better::neither, {}}};
    records.push_back(std::move(record));
  };
  add(cell("1", "none"), 1000);
  add(cell("2", "weak"), 1800);
  add(cell("4", "weak"), 3200);
  add(cell("4", "strong"), 2000);
  Environment environment = environment_of("host", std::move(series));
  environment.records = std::move(records);
  return environment;
}

TEST(ReportScaling, EfficiencyAndWhatItIsLostTo) {
  const auto chapter = scaling_chapter({studied()});
  ASSERT_TRUE(chapter);
  ASSERT_EQ(chapter->blocks.size(), 2U);
  const Table& table = std::get<Table>(chapter->blocks[1]);
  ASSERT_EQ(table.rows.size(), 3U);  // in the order of ranks, and of names of cells
  EXPECT_EQ(field(table, 0, "scaling"), Field("weak"));
  EXPECT_EQ(field(table, 1, "scaling"), Field("strong"));
  EXPECT_EQ(field(table, 0, "rate"), Field(1800.0));
  EXPECT_DOUBLE_EQ(std::get<double>(field(table, 0, "efficiency")), 0.9);
  EXPECT_DOUBLE_EQ(std::get<double>(field(table, 2, "efficiency")), 0.8);
  EXPECT_DOUBLE_EQ(std::get<double>(field(table, 0, "low")), 1800 * 0.99 / (2 * 1000 * 1.01));
  EXPECT_DOUBLE_EQ(std::get<double>(field(table, 2, "waiting")), 0.1);
  EXPECT_NEAR(std::get<double>(field(table, 2, "slower")), 0.1, 1e-12);
  EXPECT_EQ(field(table, 0, "bandwidth"), Field());  // not recorded
  const Chart& chart = std::get<Chart>(chapter->blocks[0]);
  EXPECT_THAT(chart.title, HasSubstr("efficiency"));
  EXPECT_EQ(chart.kind, ChartKind::curve);
  EXPECT_EQ(chart.table.rows.size(), 5U);  // both lines begin at one rank
}

TEST(ReportScaling, TheAnswerIsTheEfficiencyOfTheMostRanks) {
  EXPECT_EQ(scaling_answer(studied()),
            "4 ranks together reach 80% of 4 times one rank alone (78% to 82%, what both intervals "
            "allow): 3200 tokens/s against 4000 tokens/s.");
  // Over runs, their ratios count: the machine was half as fast in the second run.
  const Series one =
      series_of("train", cell("1", "none"), {1000, 500, 1000}, "token_rate", "tokens/s");
  const Series two =
      series_of("train", cell("2", "weak"), {1800, 900, 1818}, "token_rate", "tokens/s");
  EXPECT_THAT(scaling_answer(environment_of("a", {one, two})),
              HasSubstr("2 ranks together reach 90% of 2 times one rank alone (89% to 92%, the 95% "
                        "interval over 3 runs)"));
  EXPECT_EQ(scaling_answer(environment_of("a", {two})), "");
}

TEST(ReportScaling, NothingWithoutTheSameOnOneRank) {
  const Series two = series_of("train", cell("2", "weak"), {1800}, "token_rate", "tokens/s");
  EXPECT_FALSE(scaling_chapter({environment_of("a", {two})}));
  const Series other = series_of("train", cell("1", "none", "8"), {1000}, "token_rate", "tokens/s");
  EXPECT_FALSE(scaling_chapter({environment_of("a", {two, other})}));
  const Series same = series_of("train", cell("1", "none"), {1000}, "token_rate", "tokens/s");
  EXPECT_FALSE(scaling_chapter({environment_of("a", {two}), environment_of("b", {same})}));
  EXPECT_TRUE(scaling_chapter({environment_of("a", {two, same})}));
  Environment faulty = environment_of("a", {two, same});
  faulty.results.faults = {{two.key.cell, "wrong"}};
  EXPECT_FALSE(scaling_chapter({faulty}));
}

}  // namespace
}  // namespace assay::report
