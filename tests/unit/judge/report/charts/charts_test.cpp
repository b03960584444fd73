#include "judge/report/charts/charts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/report/charts/partitions.h"
#include "judge/report/number_text.h"
#include "judge/report/tables.h"
#include "support/test_record.h"
#include "unit/report_input.h"

namespace assay::report {
namespace {

using testing::HasSubstr;

std::vector<Mark> line_of(const std::vector<double>& values) {
  std::vector<Mark> line;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Mark mark;
    mark.x = static_cast<double>(i + 1);
    mark.centre.median = values[i];
    line.push_back(mark);
  }
  return line;
}

TEST(ReportCharts, SaturationIsWhereACurveComesToStayNearItsBest) {
  const auto point = saturation_of(line_of({10, 50, 89, 91, 100, 95}));
  ASSERT_TRUE(point.has_value());
  EXPECT_EQ(point->x, 4);
  EXPECT_EQ(point->plateau, 100);
  EXPECT_FALSE(saturation_of(line_of({95, 96, 100})).has_value());  // it does not rise
  EXPECT_FALSE(
      saturation_of(line_of({10, 100, 50, 60})).has_value());  // the peak of a cache, not a plateau
  EXPECT_FALSE(saturation_of(line_of({10, 100})).has_value());
}

TEST(ReportCharts, ACurveSaysItsKeyNumbers) {
  const std::vector<Panel> panels = panels_of({curve_environment("host", 1)});
  ASSERT_EQ(panels.size(), 1U);
  const auto chart = curve_chart(panels[0], {"host"});
  ASSERT_TRUE(chart.has_value());
  EXPECT_EQ(chart->kind, ChartKind::curve);
  EXPECT_TRUE(chart->settings["x"]["log"].get<bool>());
  EXPECT_THAT(chart->summary, HasSubstr("100.0 GB/s at 64KiB"));
  EXPECT_THAT(chart->summary, HasSubstr("80.0% of the roofline"));
  EXPECT_THAT(chart->summary, HasSubstr("at least 90% of its maximum from 256MiB on"));
  ASSERT_EQ(chart->settings["saturation"].size(), 1U);
  EXPECT_EQ(chart->settings["saturation"][0]["x"], 268435456.0);
  ASSERT_EQ(chart->settings["roofs"].size(), 1U);
  EXPECT_EQ(chart->settings["roofs"][0]["value"], 1e12);
  EXPECT_EQ(std::get<double>(field(chart->table, 4, "runs")), 12);
  EXPECT_NEAR(std::get<double>(field(chart->table, 4, "share")), 0.8, 0.01);
}

TEST(ReportCharts, ASinglePointIsNamedOnce) {
  std::vector<Panel> panels = panels_of({curve_environment("host", 1)});
  panels.at(0).marks.resize(1);
  const auto chart = curve_chart(panels[0], {"host"});
  ASSERT_TRUE(chart.has_value());
  EXPECT_THAT(chart->summary, HasSubstr("host: 100.0 GB/s at 64KiB"));
  EXPECT_THAT(chart->summary, Not(HasSubstr(", 100.0 GB/s at 64KiB")));
}

TEST(ReportCharts, RatiosCarryTheMarginAndEveryCell) {
  const ReportInput input = comparison_input(0.9);
  const std::vector<Chart> charts = ratio_charts(input.comparisons[0]);
  ASSERT_EQ(charts.size(), 1U);
  EXPECT_EQ(charts[0].settings["margin"], 0.02);
  ASSERT_EQ(charts[0].table.rows.size(), 5U);
  EXPECT_EQ(std::get<std::string>(field(charts[0].table, 0, "label")), "memory triad 64KiB");
  // A rate of nine tenths takes a ninth more time.
  EXPECT_NEAR(std::get<double>(field(charts[0].table, 0, "change")), 1.0 / 9, 1e-9);
  EXPECT_EQ(std::get<std::string>(field(charts[0].table, 0, "verdict")), "SLOWER");
  EXPECT_THAT(charts[0].summary,
              HasSubstr("The estimates of 0 of 5 cells lie within the margin of 2%"));
}

TEST(ReportCharts, OneRatioIsNotSaidToLieBetweenItself) {
  Comparison comparison = comparison_input(0.9).comparisons[0];
  comparison.cells.resize(1);
  EXPECT_EQ(ratio_charts(comparison)[0].summary,
            "The estimate, +11%, lies beyond the margin of 2%.");
  comparison.cells[0].effect.mean = std::log(41.4);
  const Chart large = ratio_charts(comparison)[0];
  EXPECT_EQ(large.summary, "The estimate, 41 times as long, lies beyond the margin of 2%.");
  EXPECT_EQ(text_of(large.table, large.table.rows[0], 2), "41 times");
  comparison.cells[0].effect.mean = -0.01;
  EXPECT_EQ(ratio_charts(comparison)[0].summary,
            "The estimate, -1%, lies within the margin of 2%.");
}

/// The table compares rates as rates: six times as much bandwidth does not take six times as long.
TEST(ReportTables, ALargeChangeOfARateIsNotCalledALongerTime) {
  const Table table = verdict_table(comparison_input(6).comparisons[0]);
  EXPECT_EQ(text_of(table, table.rows[0], 4), "6.0 times");
}

TEST(ReportCharts, ManyRatiosAreSplitIntoSeveralCharts) {
  std::vector<Series> series;
  for (int i = 0; i < 90; ++i) {
    series.push_back(series_of("memory", {{"n", std::to_string(i)}}, around(1e9, 8)));
  }
  const Environment a = environment_of("a", series), b = environment_of("b", series);
  const auto charts = ratio_charts(compare(a.results, b.results, nullptr, VerdictRule{}));
  ASSERT_EQ(charts.size(), 3U);
  EXPECT_THAT(charts[2].title, HasSubstr("part 3 of 3"));
  EXPECT_EQ(charts[0].table.rows.size() + charts[1].table.rows.size() + charts[2].table.rows.size(),
            90U);
}

Environment serving_environment(const std::string& name) {
  std::vector<Series> series;
  for (const char* load : {"16", "4", "256", "inf"}) {
    const Axes axes = {{"max_concurrency", load}};
    const double x = std::string(load) == "inf" ? 500 : std::stod(load);
    series.push_back(series_of("serve", axes, {x * 10}, "output_throughput", "tokens/s"));
    series.push_back(series_of("serve", axes, {x / 1000}, "mean_ttft", "s", Better::lower));
  }
  return environment_of(name, series);
}

TEST(ReportCharts, LatencyOverThroughputInTheOrderOfLoads) {
  const auto charts = latency_charts({serving_environment("a"), serving_environment("b")});
  ASSERT_EQ(charts.size(), 1U);
  const Table& table = charts[0].table;
  ASSERT_EQ(table.rows.size(), 8U);
  EXPECT_EQ(std::get<std::string>(field(table, 0, "load")), "4");
  EXPECT_EQ(std::get<std::string>(field(table, 1, "load")), "16");
  EXPECT_EQ(std::get<std::string>(field(table, 3, "load")), "inf");
  EXPECT_EQ(std::get<double>(field(table, 2, "throughput")), 2560);
  EXPECT_EQ(std::get<double>(field(table, 2, "latency")), 0.256);
  EXPECT_THAT(charts[0].summary, HasSubstr("at most 5000 tokens/s, at max_concurrency inf"));
}

TEST(ReportCharts, LinksBecomeAHeatMapAtTheLargestSize) {
  std::vector<Series> series;
  for (const char* size : {"1MiB", "1GiB"}) {
    for (const char* from : {"0", "1"}) {
      const char* to = *from == '0' ? "1" : "0";
      const double rate = std::string(size) == "1GiB" ? 48e9 : 5e9;
      series.push_back(series_of("peer", {{"src", from}, {"dst", to}, {"size", size}}, {rate}));
    }
  }
  series.push_back(series_of("peer", {{"src", "0"}, {"dst", "stotal"}, {"size", "1GiB"}}, {96e9}));
  const auto charts = heat_charts({environment_of("a", series)});
  ASSERT_EQ(charts.size(), 1U);
  ASSERT_EQ(charts[0].table.rows.size(), 2U);
  EXPECT_EQ(std::get<double>(field(charts[0].table, 0, "value")), 48e9);
  EXPECT_THAT(charts[0].title, HasSubstr("size=1GiB"));
  // Links that are alike look alike: the colours span at least a tenth.
  EXPECT_EQ(charts[0].settings["most"], 48e9);
  EXPECT_DOUBLE_EQ(charts[0].settings["least"].get<double>(), 0.9 * 48e9);
}

TEST(ReportCharts, HeatMapsOfOneRowBecomeRowsOfOne) {
  const auto rows = [](double factor) {
    std::vector<Series> series;
    for (const char* op : {"read", "write"}) {
      for (const char* to : {"0", "1", "2"}) {
        series.push_back(series_of("copy", {{"op", op}, {"from", "host"}, {"to", to}},
                                   {factor * (*op == 'r' ? 40e9 : 50e9)}));
      }
    }
    return series;
  };
  const auto alone = heat_charts({environment_of("a", rows(1))});
  ASSERT_EQ(alone.size(), 1U);
  EXPECT_EQ(alone[0].title, "copy bandwidth by link, a, from host");
  ASSERT_EQ(alone[0].table.rows.size(), 6U);
  EXPECT_EQ(std::get<std::string>(field(alone[0].table, 0, "from")), "op=read");
  EXPECT_EQ(std::get<std::string>(field(alone[0].table, 3, "from")), "op=write");
  EXPECT_EQ(std::get<double>(field(alone[0].table, 3, "value")), 50e9);
  EXPECT_EQ(alone[0].settings["least"], 40e9);
  EXPECT_TRUE(alone[0].settings["merged"].get<bool>());
  const auto both = heat_charts({environment_of("a", rows(1)), environment_of("b", rows(0.5))});
  ASSERT_EQ(both.size(), 1U);
  EXPECT_EQ(both[0].title, "copy bandwidth by link, from host");
  EXPECT_EQ(std::get<std::string>(field(both[0].table, 9, "from")), "b, op=write");
}

TEST(ReportCharts, VoidValuesAreMarkedInEveryKindOfChart) {
  Environment curve = curve_environment("a", 1);
  curve.results.faults = {{curve.results.series[0].key.cell, "120% of the roofline"}};
  const auto lines = curve_chart(panels_of({curve}).at(0), {"a"});
  ASSERT_TRUE(lines.has_value());
  std::size_t marked = 0;
  for (std::size_t row = 0; row < lines->table.rows.size(); ++row) {
    marked += field(lines->table, row, "fault") == Field("120% of the roofline") ? 1 : 0;
  }
  EXPECT_EQ(marked, 1U);
  EXPECT_THAT(lines->summary, HasSubstr(" 1 value is void and drawn hollow."));
  Environment serving = serving_environment("s");
  serving.results.faults = {{serving.results.series[0].key.cell, "3 requests failed"}};
  const auto latency = latency_charts({serving});
  EXPECT_THAT(latency.at(0).summary, HasSubstr(" 1 value is void and drawn hollow."));
  Environment links =
      environment_of("a", {series_of("peer", {{"src", "0"}, {"dst", "1"}}, {48e9}),
                           series_of("peer", {{"src", "1"}, {"dst", "0"}}, {12e9})});
  EXPECT_THAT(heat_charts({links}).at(0).summary, Not(HasSubstr("void")));
  links.results.faults = {{links.results.series[1].key.cell, "wrong"}};
  const auto heat = heat_charts({links});
  EXPECT_EQ(field(heat.at(0).table, 1, "fault"), Field("wrong"));
}

TEST(ReportCharts, HeatMapsOfUnlikeLinksSpanTheirValues) {
  const auto charts =
      heat_charts({environment_of("a", {series_of("peer", {{"src", "0"}, {"dst", "1"}}, {48e9}),
                                        series_of("peer", {{"src", "1"}, {"dst", "0"}}, {12e9})})});
  ASSERT_EQ(charts.size(), 1U);
  EXPECT_EQ(charts[0].settings["least"], 12e9);
}

TEST(ReportCharts, SizesThatArePowersAreOnALogarithmicAxis) {
  const auto log_of = [](const std::vector<std::string>& sizes) {
    std::vector<Series> series;
    for (const std::string& size : sizes) {
      series.push_back(series_of("memory", {{"op", "copy"}, {"size", size}}, {1e9}));
    }
    const auto chart = curve_chart(panels_of({environment_of("a", series)}).at(0), {"a"});
    return chart->settings["x"]["log"].get<bool>();
  };
  EXPECT_TRUE(log_of({"1MiB", "2MiB", "4MiB"}));
  EXPECT_TRUE(log_of({"1MiB", "4MiB", "16MiB"}));
  EXPECT_FALSE(log_of({"1MiB", "2MiB", "3MiB"}));
}

TEST(ReportCharts, BarsFarApartAreLogarithmicAndEachHasItsUnit) {
  std::vector<Series> series;
  for (const auto& [metric, seconds] :
       {std::pair{"latency", 2e-6}, {"submit", 1e-6}, {"graph_node", 14e-9}}) {
    series.push_back(
        series_of("launch", {{"metric", metric}}, {seconds}, "latency", "s", Better::lower));
  }
  const auto chart = curve_chart(panels_of({environment_of("a", series)}).at(0), {"a"});
  ASSERT_TRUE(chart.has_value());
  EXPECT_EQ(chart->kind, ChartKind::bars);
  EXPECT_TRUE(chart->settings["log"].get<bool>());
  EXPECT_EQ(chart->settings["texts"],
            (std::vector<std::string>{"14.00 ns", "2.000 us", "1.000 us"}));
  series.erase(series.begin() + 2);
  series.push_back(
      series_of("launch", {{"metric", "other"}}, {1.5e-6}, "latency", "s", Better::lower));
  const auto near = curve_chart(panels_of({environment_of("a", series)}).at(0), {"a"});
  EXPECT_FALSE(near->settings["log"].get<bool>());
}

/// Parts in the order of the record and what they leave of the whole; of several runs the last one
/// that passed; cells without parts have no bar.
TEST(ReportCharts, MemoryByKindIsStacked) {
  const auto record_of = [](const std::string& model, double gradients, RecordStatus status) {
    Record record;
    record.cell = Cell("train", {{"model", model}, {"batch", "8"}});
    record.status = status;
    for (const auto& [name, value] : {std::pair("memory", gradients + 300),
                                      {"step_time", 0.5},
                                      {"memory_parameters", 200.0},
                                      {"memory_gradients", gradients},
                                      {"memory_by_driver", 9000.0}}) {
      record.metrics.push_back({.name = name, .value = value, .unit = "bytes", .text = ""});
    }
    return record;
  };
  Environment environment = environment_of("a", {});
  environment.records = {
      record_of("30M", 500, RecordStatus::passed), record_of("7B", 700, RecordStatus::passed),
      record_of("30M", 600, RecordStatus::passed), record_of("30M", 1, RecordStatus::failed)};
  Record without = record_of("mlp", 0, RecordStatus::passed);
  without.metrics.clear();
  environment.records.push_back(without);
  const std::vector<Chart> charts = memory_charts({environment});
  ASSERT_EQ(charts.size(), 1u);
  EXPECT_EQ(charts[0].kind, ChartKind::stack);
  EXPECT_EQ(charts[0].title, "train: memory by kind");
  const std::vector<std::vector<Field>> expected = {
      {"a", "model=30M", "parameters", 200.0}, {"a", "model=30M", "gradients", 600.0},
      {"a", "model=30M", "other", 100.0},      {"a", "model=7B", "parameters", 200.0},
      {"a", "model=7B", "gradients", 700.0},   {"a", "model=7B", "other", 100.0}};
  EXPECT_EQ(charts[0].table.rows, expected);
  EXPECT_THAT(charts[0].summary, HasSubstr("a, model=7B: 1.000 kB, of which gradients 70%."));
  EXPECT_TRUE(memory_charts({environment_of("b", {})}).empty());
}

TEST(ReportCharts, TelemetryOfTheLastRunThatHasIt) {
  Environment environment;
  environment.results.name = "host";
  for (const char* run : {"first", "second"}) {
    Record record = passed_record();
    record.run = run;
    Telemetry telemetry;
    telemetry.trace.interval = 0.1;
    telemetry.trace.window = 0.2;
    telemetry.trace.seconds = {0, 0.1, 0.2};
    telemetry.trace.channels = {{"gpu0", "power", "W", ChannelKind::gauge, ""},
                                {"gpu0", "energy", "J", ChannelKind::counter, ""},
                                {"gpu0", "clock", "Hz", ChannelKind::gauge, ""}};
    telemetry.trace.values = {{300, std::nan(""), 700}, {1, 2, 3}, {1.9e9, 1.9e9, 1.9e9}};
    record.telemetry = telemetry;
    environment.records.push_back(record);
  }
  environment.records.push_back(passed_record());  // a run without telemetry
  const auto [charts, constants] = telemetry_charts(environment);
  ASSERT_EQ(charts.size(), 1U);  // energy is a counter, and the clock needs no line
  EXPECT_EQ(constants, (std::vector<std::string>{"gpu0 clock 1.900 GHz"}));
  EXPECT_THAT(charts[0].title, HasSubstr("run second"));
  EXPECT_THAT(charts[0].summary, HasSubstr("gpu0: 300.0 W to 700.0 W"));
  ASSERT_EQ(charts[0].table.rows.size(), 3U);  // two readings, and the gap after them
  EXPECT_NEAR(std::get<double>(field(charts[0].table, 1, "seconds")), 0.2, 1e-6);
}

TEST(ReportCharts, ALongPauseStaysAGapHoweverManyReadings) {
  Environment environment;
  // Ten cells of 1,000 readings; half a minute passes before the last, the others follow at once.
  for (int cell = 0; cell < 10; ++cell) {
    Record record = passed_record();
    record.time = fmt::format("2026-01-01T00:{:02}:{:02}.000Z", cell == 9 ? 1 : 0, 10 + cell);
    Telemetry telemetry;
    telemetry.trace.window = 1;
    telemetry.trace.channels = {{"gpu0", "power", "W", ChannelKind::gauge, ""}};
    telemetry.trace.values.resize(1);
    for (int i = 0; i < 1000; ++i) {
      telemetry.trace.seconds.push_back(i * 0.001);
      telemetry.trace.values[0].push_back(300 + cell);
    }
    record.telemetry = telemetry;
    environment.records.push_back(record);
  }
  const auto charts = telemetry_charts(environment).charts;
  ASSERT_EQ(charts.size(), 1U);
  const Table& table = charts[0].table;
  EXPECT_LE(table.rows.size(), 620U);
  std::vector<double> gaps;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (std::holds_alternative<double>(field(table, i, "value"))) continue;
    gaps.push_back(std::get<double>(field(table, i, "seconds")));
  }
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_NEAR(gaps[0], 9, 0.1);
}

TEST(ReportCharts, ACurveTakesTheIntervalOfItsOnlyFiniteRun) {
  Series series = series_of("memory", {{"size", "1MiB"}}, {std::nan(""), 100e9});
  series.points[0].low = 1;
  series.points[0].high = 2;
  const auto centre = centre_of(series);
  ASSERT_TRUE(centre);
  EXPECT_EQ(centre->median, 100e9);
  EXPECT_EQ(centre->low, 99e9);
  EXPECT_EQ(centre->high, 101e9);
}

TEST(ReportCharts, PartitionsAddUpBesideTheWhole) {
  ReportInput input;
  input.environments = {curve_environment("p0", 1)};
  for (const char* size : {"64KiB", "1MiB", "16MiB"}) {
    input.study.push_back(
        {{"cell", std::string("memory op=triad size=") + size},
         {"metric", "bandwidth"},
         {"unit", "bytes/s"},
         {"better", "higher"},
         {"worst", "p1"},
         {"sum", 190e9},
         {"whole", 200e9},
         {"parts",
          {{{"environment", "p1"},
            {"each", 100e9},
            {"together", 95e9},
            {"interference", {{"ratio", 0.95}, {"interval95", {0.94, 0.96}}}}}}}});
  }
  input.study.push_back({{"cell", 5}});  // incomplete
  input.study.push_back("no cell");
  const auto chapter = partitions_chapter(input);
  ASSERT_TRUE(chapter.has_value());
  ASSERT_EQ(chapter->blocks.size(), 2U);
  const Chart& chart = std::get<Chart>(chapter->blocks[0]);
  EXPECT_THAT(chart.title, HasSubstr("Sum of the partitions: memory bandwidth over size"));
  ASSERT_EQ(chart.table.rows.size(), 6U);
  EXPECT_EQ(std::get<std::string>(field(chart.table, 3, "environment")), "whole device");
  EXPECT_EQ(std::get<double>(field(chart.table, 0, "value")), 190e9);
  const Table& table = std::get<Table>(chapter->blocks[1]);
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(std::get<double>(field(table, 0, "interference")), 0.95);
  EXPECT_EQ(std::get<std::string>(field(table, 0, "worst")), "worst");
  EXPECT_THAT(study_answer(input),
              testing::StartsWith("1 partitions together reach 1.90 times what one reaches alone, "
                                  "190.0 GB/s in memory op=triad size=64KiB, 95% of the whole "
                                  "device's 200.0 GB/s; beside the others, a partition keeps at "
                                  "least 95.0% of its rate (95% interval 94.0% to 96.0%: p1, "));
  for (Json& latency : input.study) {
    if (latency.is_object()) latency.erase("sum");
  }
  EXPECT_THAT(study_answer(input), testing::StartsWith("Beside the others, a partition keeps"));
  // The interval of a single pair is 0 to infinity, which JSON writes as null.
  input.study[0]["parts"][0]["interference"]["interval95"] = {0.0, nullptr};
  EXPECT_THAT(study_answer(input), HasSubstr("o loss to the others is proven: the slowest keeps "
                                             "95.0% of its rate (a single pair: p1"));
  EXPECT_EQ(partitions_chapter(input)->blocks.size(), 2U);
  input.study = "nonsense";
  EXPECT_FALSE(partitions_chapter(input).has_value());
}

TEST(ReportCharts, NumbersAreReadInTheUnitThatSuitsThemAll) {
  EXPECT_EQ(quantity_text(812.34e9, "bytes/s"), "812.3 GB/s");
  EXPECT_EQ(quantity_text(2.31e-6, "s"), "2.310 us");
  EXPECT_EQ(quantity_text(1.9e9, "Hz"), "1.900 GHz");
  EXPECT_EQ(quantity_text(5120.4, "tokens/s"), "5120 tokens/s");
  EXPECT_EQ(quantity_text(0.5, "1"), "0.5000");
  EXPECT_EQ(exact_text(Field(0.1)), "0.1");
  EXPECT_EQ(exact_text(Field(1.0 / 3)), "0.3333333333333333");
  EXPECT_EQ(exact_text(Field(8589934592.0)), "8589934592");
  EXPECT_EQ(exact_text(Field()), "");
}

}  // namespace
}  // namespace assay::report
