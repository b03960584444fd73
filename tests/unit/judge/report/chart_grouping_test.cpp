#include "judge/report/chart_grouping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "judge/report/charts/charts.h"
#include "unit/report_input.h"

namespace assay::report {
namespace {

TEST(ReportPanels, AxisValuesAsNumbers) {
  EXPECT_EQ(axis_number("64KiB"), 65536);
  EXPECT_EQ(axis_number("2.5"), 2.5);
  EXPECT_EQ(axis_number("4096x4096x4096"), 4096);
  EXPECT_EQ(axis_number("4096x1024x4096"), std::nullopt);
  EXPECT_EQ(axis_number("xx"), std::nullopt);
  EXPECT_EQ(axis_number("inf"), std::nullopt);
  EXPECT_EQ(axis_number("nan"), std::nullopt);
  EXPECT_EQ(axis_number("triad"), std::nullopt);
  EXPECT_EQ(axis_number(""), std::nullopt);
  EXPECT_EQ(axis_number(std::string(100000, 'x')), std::nullopt);
}

TEST(ReportPanels, CellsAreOrderedByNumbersNotByText) {
  EXPECT_TRUE(comes_before({{"size", "64KiB"}}, {{"size", "1MiB"}}));
  EXPECT_FALSE(comes_before({{"size", "1MiB"}}, {{"size", "64KiB"}}));
  EXPECT_TRUE(comes_before({{"op", "add"}, {"size", "8GiB"}}, {{"op", "copy"}, {"size", "1KiB"}}));
  EXPECT_TRUE(comes_before({{"rate", "8"}}, {{"rate", "inf"}}));
  EXPECT_FALSE(comes_before({{"size", "1MiB"}}, {{"size", "1MiB"}}));
}

TEST(ReportPanels, TheIntervalSaysWhatTheRunsCanTell) {
  const auto one = centre_of(series_of("m", {}, {100}));
  EXPECT_DOUBLE_EQ(one->median, 100);
  EXPECT_DOUBLE_EQ(one->low, 99);  // the interval within the run
  EXPECT_DOUBLE_EQ(one->high, 101);
  const auto three = centre_of(series_of("m", {}, {100, 90, 140}));
  EXPECT_DOUBLE_EQ(three->median, 100);
  EXPECT_DOUBLE_EQ(three->low, 90);  // the range of the runs
  EXPECT_DOUBLE_EQ(three->high, 140);
  const auto many = centre_of(
      series_of("m", {}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}));
  EXPECT_DOUBLE_EQ(many->low, 6);  // ranks 6 and 15 of 20 hold 95%
  EXPECT_DOUBLE_EQ(many->high, 15);
  EXPECT_FALSE(centre_of(series_of("m", {}, {})).has_value());
  EXPECT_FALSE(centre_of(series_of("m", {}, {std::nan("")})).has_value());
}

/// Where the name of a model says the batch, the sequence and the rate, the models are compared,
/// not batches; sizes in their names order them.
TEST(ReportPanels, WhatFollowsFromAModelsNameIsNoAxis) {
  const std::vector<std::array<const char*, 4>> cells = {{"30M", "32", "512", "6e-4"},
                                                         {"7B", "8", "1024", "1e-4"},
                                                         {"1.5B", "4", "512", "2e-4"},
                                                         {"354M", "8", "512", "3e-4"}};
  std::vector<Series> series;
  for (const auto& [model, batch, sequence, rate] : cells) {
    series.push_back(series_of(
        "train", {{"model", model}, {"batch", batch}, {"sequence", sequence}, {"rate", rate}},
        {1e5}, "token_rate", "tokens/s"));
  }
  const auto panels = panels_of({environment_of("a", series)});
  ASSERT_EQ(panels.size(), 1u);
  EXPECT_EQ(panels[0].x_axis, "");
  std::vector<std::string> labels;
  for (const Mark& mark : panels[0].marks) labels.push_back(mark.label);
  EXPECT_EQ(labels, (std::vector<std::string>{"30M", "354M", "1.5B", "7B"}));
  // A batch of its own for each run of one model is an axis.
  for (const char* batch : {"16", "64"}) {
    series.push_back(series_of(
        "train", {{"model", "30M"}, {"batch", batch}, {"sequence", "512"}, {"rate", "6e-4"}}, {1e5},
        "token_rate", "tokens/s"));
  }
  EXPECT_EQ(panels_of({environment_of("a", series)})[0].x_axis, "batch");
}

/// How many requests a load sent is no setting that anybody compares, unless nothing else differs.
TEST(ReportPanels, TheLengthOfALoadIsAnAxisOnlyIfNothingElseVaries) {
  const auto panels_of_loads = [](const std::vector<std::array<const char*, 4>>& cells) {
    std::vector<Series> series;
    for (const auto& [requests, input, backend, rate] : cells) {
      series.push_back(series_of("serving",
                                 {{"num_prompts", requests},
                                  {"random_input_len", input},
                                  {"backend", backend},
                                  {"request_rate", rate}},
                                 {1e3}, "output_throughput", "tokens/s"));
    }
    return panels_of({environment_of("a", series)});
  };
  const auto alone =
      panels_of_loads({{"10", "128", "v", "8"}, {"20", "128", "v", "8"}, {"40", "128", "v", "8"}});
  EXPECT_EQ(alone[0].x_axis, "num_prompts");
  const auto lengths =
      panels_of_loads({{"40", "128", "v", "8"}, {"20", "256", "v", "8"}, {"10", "512", "v", "8"}});
  EXPECT_EQ(lengths[0].x_axis, "random_input_len");
  // Two rates are too few for an axis, and so they are categories.
  const auto rates =
      panels_of_loads({{"10", "128", "v", "1"}, {"20", "128", "v", "8"}, {"40", "128", "w", "8"}});
  ASSERT_EQ(rates.size(), 1U);
  EXPECT_EQ(rates[0].x_axis, "");
  EXPECT_EQ(rates[0].marks[0].label, "backend=v request_rate=1");
  const auto two = panels_of_loads({{"20", "128", "v", "1"}, {"40", "128", "v", "8"}});
  EXPECT_EQ(two[0].marks[0].label, "request_rate=1");
  // Only the length tells these two apart.
  const auto same = panels_of_loads({{"20", "128", "v", "1"}, {"40", "128", "v", "1"}});
  EXPECT_EQ(same[0].marks[0].label, "num_prompts=20");
}

TEST(ReportPanels, OneEnvironmentHasLinesAndSeveralHaveFacets) {
  std::vector<Series> series;
  for (const char* op : {"copy", "triad"}) {
    for (const char* size : {"1MiB", "4KiB", "1GiB"}) {
      series.push_back(series_of("memory", {{"op", op}, {"size", size}, {"cache", "hot"}}, {1e9}));
    }
  }
  const Environment a = environment_of("a", series);
  const auto alone = panels_of({a});
  ASSERT_EQ(alone.size(), 1U);
  EXPECT_EQ(alone[0].x_axis, "size");
  EXPECT_TRUE(alone[0].x_is_size);
  EXPECT_EQ(alone[0].constants, "cache=hot");
  ASSERT_EQ(alone[0].marks.size(), 6U);
  EXPECT_EQ(alone[0].marks[0].line, "copy");
  EXPECT_EQ(alone[0].marks[0].x, 4096);  // sorted by number
  const auto both = panels_of({a, environment_of("b", series)});
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].facet, "op=copy");
  EXPECT_EQ(both[0].marks.size(), 6U);
  EXPECT_EQ(both[0].marks[5].environment, 1U);
}

/// Published figures name what assay's benchmark has no axis for.
TEST(ReportPanels, AnAxisThatAnEnvironmentLacksMakesLinesInTheSharedPanel) {
  std::vector<Series> own;
  for (const char* size : {"1MiB", "8MiB", "64MiB"}) {
    own.push_back(series_of(
        "peer",
        {{"pattern", "pair"}, {"engine", "copy"}, {"from", "0"}, {"to", "1"}, {"size", size}},
        {1e9}));
  }
  const std::vector<Series> published = {
      series_of("peer", {{"pattern", "pair"}, {"library", "torch"}, {"size", "8MiB"}}, {4e10}),
      series_of("peer", {{"pattern", "pair"}, {"library", "mpi"}, {"size", "1MiB"}}, {4e10})};
  const auto panels = panels_of({environment_of("a", own), environment_of("b", published)});
  ASSERT_EQ(panels.size(), 1U);
  EXPECT_EQ(panels[0].x_axis, "size");
  EXPECT_EQ(panels[0].facet, "");
  EXPECT_EQ(panels[0].constants, "pattern=pair");
  ASSERT_EQ(panels[0].marks.size(), 5U);
  EXPECT_EQ(panels[0].marks[0].line, "");
  EXPECT_EQ(panels[0].marks[3].line, "mpi");
  EXPECT_EQ(panels[0].marks[4].line, "torch");
  EXPECT_EQ(panels[0].marks[4].environment, 1U);
}

TEST(ReportPanels, WhatABenchmarkMeasuresComesBeforeWhatItDerives) {
  Series derived = series_of("toy", {{"batch", "8"}}, {3e-5}, "exchange_alone", "s", Better::lower);
  derived.points[0].low = derived.points[0].high = derived.points[0].value;
  const auto panels = panels_of({environment_of(
      "a", {derived, series_of("toy", {{"batch", "8"}}, {2e-3}, "latency", "s", Better::lower),
            series_of("memory", {}, {1e9})})});
  ASSERT_EQ(panels.size(), 3u);
  EXPECT_EQ(panels[0].metric, "bandwidth");
  EXPECT_EQ(panels[1].metric, "latency");
  EXPECT_EQ(panels[2].metric, "exchange_alone");
}

TEST(ReportPanels, CategoriesCarryOnlyTheAxesThatVary) {
  const auto panels = panels_of(
      {environment_of("a", {series_of("gemm", {{"dtype", "f32"}, {"layout", "TN"}}, {1}),
                            series_of("gemm", {{"dtype", "bf16"}, {"layout", "TN"}}, {2})})});
  ASSERT_EQ(panels.size(), 1U);
  EXPECT_TRUE(panels[0].x_axis.empty());
  EXPECT_EQ(panels[0].marks[0].label, "bf16");
  EXPECT_EQ(panels[0].constants, "layout=TN");
}

/// Figures that somebody else reported lack most axes of assay's own.
TEST(ReportPanels, WhatSomeMarksLackIsNotSaidOfAll) {
  const Environment own = environment_of(
      "host", {series_of("train", {{"model", "30M"}, {"batch", "8"}, {"precision", "f32"}}, {1}),
               series_of("train", {{"model", "124M"}, {"batch", "8"}, {"precision", "f32"}}, {2})});
  const Environment reported =
      environment_of("reported", {series_of("train", {{"model", "30M"}, {"batch", "8"}}, {3})});
  const auto panels = panels_of({own, reported});
  ASSERT_EQ(panels.size(), 1U);
  EXPECT_EQ(panels[0].constants, "batch=8");
  EXPECT_EQ(panels[0].constants_of_some, "precision=f32");
  const auto chart = curve_chart(panels[0], {"host", "reported"});
  ASSERT_TRUE(chart);
  EXPECT_THAT(chart->conditions, testing::HasSubstr(" All with batch=8. Where it is known, with "
                                                    "precision=f32."));
}

TEST(ReportPanels, TooManyCategoriesAreSplitIntoPanelsThatSayWhatTheyShare) {
  std::vector<Series> series;
  for (int i = 0; i < 20; ++i) {
    for (const char* op : {"copy", "triad"}) {
      // Only "copy" has several caches.
      const char* cache = *op == 'c' && i % 2 == 0 ? "cold" : "hot";
      series.push_back(series_of(
          "memory", {{"op", op}, {"cache", cache}, {"name", "n" + std::to_string(i)}}, {1}));
    }
  }
  const auto panels = panels_of({environment_of("a", series)});
  ASSERT_EQ(panels.size(), 2U);
  EXPECT_EQ(panels[0].facet, "op=copy");
  EXPECT_EQ(panels[0].marks[0].label, "cache=cold name=n0");
  EXPECT_EQ(panels[1].marks[0].label, "n0");
  EXPECT_EQ(panels[1].constants, "cache=hot");
}

TEST(ReportPanels, OfManyMetricsTheHeadlineOnesAreDrawn) {
  std::vector<Series> series;
  for (const char* metric : {"mean_ttft", "std_ttft", "p99_ttft", "std_itl", "output_throughput"}) {
    series.push_back(series_of("serve", {{"request_rate", "4"}}, {1}, metric, "s"));
  }
  std::vector<std::string> metrics;
  for (const Panel& panel : panels_of({environment_of("a", series)})) {
    metrics.push_back(panel.metric);
  }
  EXPECT_THAT(metrics, testing::ElementsAre("mean_ttft", "output_throughput", "p99_ttft"));
}

TEST(ReportPanels, ASearchIsDrawnRunByRunWithTheBestSoFar) {
  Environment environment;
  for (const double seconds : {3.0, 5.0, 0.0, 2.0, 4.0}) {
    Record record;
    record.cell = Cell("tiles", {{"block", std::to_string(seconds)}});
    record.notes.emplace_back(tuning_note, search_part);
    record.status = seconds > 0 ? RecordStatus::passed : RecordStatus::error;
    if (seconds > 0) record.metrics.push_back({"time", seconds, "s", Better::lower, ""});
    environment.records.push_back(record);
  }
  environment.records.push_back(environment.records.back());
  environment.records.back().notes.back().second = "proof";
  const std::vector<Panel> panels = tuning_panels({environment});
  ASSERT_EQ(panels.size(), 1u);
  EXPECT_EQ(panels[0].metric, "time");
  EXPECT_EQ(panels[0].x_axis, "run of the search");
  std::vector<std::pair<double, double>> runs, best;
  for (const Mark& mark : panels[0].marks) {
    (mark.line == "best so far" ? best : runs).emplace_back(mark.x, mark.centre.median);
  }
  EXPECT_EQ(runs, (std::vector<std::pair<double, double>>{{1, 3}, {2, 5}, {4, 2}, {5, 4}}));
  EXPECT_EQ(best, (std::vector<std::pair<double, double>>{{1, 3}, {2, 3}, {4, 2}, {5, 2}}));
  EXPECT_TRUE(tuning_panels({Environment{}}).empty());
}

TEST(ReportPanels, ASearchOfABenchmarksSettingsHasAPanelForEachCell) {
  Environment environment;
  for (const char* setting : {"unchanged", "X=1", "X=2"}) {
    for (const char* size : {"1KiB", "1MiB"}) {
      Record record;
      record.cell = Cell("copy", {{"size", size}, {std::string(setting_axis), setting}});
      record.notes.emplace_back(tuning_note, search_part);
      record.status = RecordStatus::passed;
      record.value.emplace();
      record.value->quantity = Quantity::bandwidth;
      record.value->median = 1e9;
      environment.records.push_back(record);
    }
  }
  const std::vector<Panel> panels = tuning_panels({environment});
  ASSERT_EQ(panels.size(), 2u);
  EXPECT_EQ(panels[0].benchmark, "copy size=1KiB");
  EXPECT_EQ(panels[0].unit, "bytes/s");
  EXPECT_EQ(panels[0].marks.size(), 2u * 3);
  EXPECT_EQ(panels[0].marks[2].label, "copy size=1KiB setting=X=2");
}

}  // namespace
}  // namespace assay::report
