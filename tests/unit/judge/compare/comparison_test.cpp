#include "judge/compare/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cli/judge/compare_view.h"
#include "core/random.h"
#include "judge/compare/comparison_json.h"

namespace assay {
namespace {

using testing::HasSubstr;

Record record(const std::string& run, const Cell& cell, double value,
              Quantity quantity = Quantity::bandwidth) {
  Record record;
  record.run = run;
  record.time = "2026-01-01T00:00:" + run;
  record.cell = cell;
  record.status = RecordStatus::passed;
  record.value = Value{quantity, value, {value, value}, std::nullopt, std::nullopt};
  record.work = Work{.bytes = 1e6};
  record.verification = Verification{true, "every element", 0, 0, ""};
  return record;
}

const Cell triad("memory", {{"op", "triad"}});
const Cell copy("memory", {{"op", "copy"}});

/// n runs of both cells, B's bandwidth `factor` times A's, and a pair number each.
ResultSet set_of(const std::string& name, double factor, double noise = 0.002, std::size_t n = 12,
                 bool paired = true) {
  Random random(std::hash<std::string>()(name) | 1);
  std::vector<Record> records;
  for (std::size_t i = 0; i < n; ++i) {
    const std::string run = std::to_string(10 + i);
    for (const Cell& cell : {triad, copy}) {
      records.push_back(record(run, cell, 1e11 * factor * std::exp(noise * random.normal())));
    }
  }
  ResultSet set = result_set_of(records, name);
  for (std::size_t i = 0; paired && i < set.units.size(); ++i) set.units[i].pair = i;
  set.paired = paired;
  return set;
}

const VerdictRule plain_rule;

/// Another program makes four of twelve units of either side four times as slow. Both sides are
/// equal, and the others show it.
TEST(Comparison, PairsThatOtherProgramsDisturbedAreNotJudged) {
  ResultSet a = set_of("a", 1), b = set_of("b", 1);
  for (ResultSet* const set : {&a, &b}) {
    for (Unit& unit : set->units) unit.taken = 0.01;
  }
  const auto disturb = [](ResultSet& set, std::size_t pair) {
    set.units[pair].taken = 0.6;
    for (Series& series : set.series) series.points[pair].value /= 4;
  };
  for (const std::size_t pair : {2, 5}) disturb(a, pair);
  for (const std::size_t pair : {3, 9}) disturb(b, pair);
  const Comparison calm = compare(a, b, nullptr, plain_rule);
  EXPECT_EQ(calm.all.judgement.verdict, Verdict::equal);
  EXPECT_EQ(calm.cells[0].effect.pairs, 8u);
  EXPECT_EQ(calm.pairs_left_out, 4u);
  EXPECT_EQ(to_json(calm)["pairs_left_out"], 4);
  EXPECT_THAT(cli::comparison_text(calm, false, 100, cli::Style(false)),
              HasSubstr("4 of 12 pairs were disturbed"));
  for (ResultSet* const set : {&a, &b}) {
    for (Unit& unit : set->units) unit.taken.reset();
  }
  const Comparison all = compare(a, b, nullptr, plain_rule);
  EXPECT_NE(all.all.judgement.verdict, Verdict::equal);
  EXPECT_EQ(all.pairs_left_out, 0u);
}

/// What trainings came to besides their rate stands beside the verdict; other metrics do not.
TEST(Comparison, LossAndMemoryStandBesideTheVerdict) {
  const auto set = [](const char* name, std::vector<double> losses, double memory) {
    std::vector<Record> records;
    for (std::size_t i = 0; i < losses.size(); ++i) {
      Record one = record(std::to_string(10 + i), triad, 1e11);
      const auto add = [&](const char* metric, double value, const char* unit) {
        one.metrics.push_back(
            {.name = metric, .value = value, .unit = unit, .better = Better::neither, .text = ""});
      };
      add("loss_at_step_10", losses[i], "1");
      add("memory", memory, "bytes");
      add("last_loss", losses[i], "1");  // depends on how many steps there were
      records.push_back(std::move(one));
    }
    return result_set_of(records, name);
  };
  const Comparison same =
      compare(set("a", {2, 2}, 1024), set("b", {2, 2}, 2048), nullptr, plain_rule);
  ASSERT_EQ(same.beside.size(), 2u);
  EXPECT_EQ(same.beside[0].key.metric, "loss_at_step_10");
  EXPECT_TRUE(same.beside[0].same);
  EXPECT_EQ(same.beside[1].key.metric, "memory");
  EXPECT_FALSE(same.beside[1].same);
  EXPECT_EQ(same.beside[1].median_b, 2048);
  const std::string text = cli::comparison_text(same, false, 100, cli::Style(false));
  EXPECT_THAT(text, testing::ContainsRegex("loss_at_step_10 +2.000 +2.000  the same in all runs"));
  EXPECT_THAT(text, testing::ContainsRegex("memory +1 KiB +2 KiB  [+]100.0%"));
  EXPECT_EQ(to_json(same)["beside"][1]["median_a"], 1024);
  const Comparison other =
      compare(set("a", {2, 2}, 1024), set("b", {2, 3}, 1024), nullptr, plain_rule);
  EXPECT_FALSE(other.beside[0].same);
  EXPECT_TRUE(compare(set_of("a", 1), set_of("b", 1), nullptr, plain_rule).beside.empty());
}

TEST(Comparison, HigherBandwidthIsFaster) {
  const Comparison faster = compare(set_of("a", 1), set_of("b", 1.1), nullptr, plain_rule);
  ASSERT_EQ(faster.cells.size(), 2u);
  EXPECT_EQ(faster.cells[0].judgement.verdict, Verdict::faster);
  EXPECT_NEAR(faster.cells[0].ratio, 1.1, 0.005);
  EXPECT_LE(faster.cells[0].ratio95.low, faster.cells[0].ratio);
  EXPECT_GE(faster.cells[0].ratio95.high, faster.cells[0].ratio);
  EXPECT_EQ(faster.all.judgement.verdict, Verdict::faster);
  EXPECT_NEAR(faster.all.ratio.value(), 1 / 1.1, 0.005) << "the overall ratio is a ratio of times";
  const Comparison slower = compare(set_of("b", 1.1), set_of("a", 1), nullptr, plain_rule);
  EXPECT_EQ(slower.all.judgement.verdict, Verdict::slower);
}

TEST(Comparison, CellsAreInTheOrderOfTheirSizesAndRates) {
  std::vector<Record> records;
  for (const char* rate : {"128", "16", "8"}) {
    for (const char* size : {"1MiB", "4KiB", "64KiB"}) {
      records.push_back(record("1", Cell("load", {{"rate", rate}, {"size", size}}), 1e9));
    }
  }
  const ResultSet set = result_set_of(records, "a");
  const Comparison comparison = compare(set, set, nullptr, plain_rule);
  std::vector<std::string> cells;
  for (const CellComparison& cell : comparison.cells) cells.push_back(cell.key.cell);
  EXPECT_EQ(cells,
            (std::vector<std::string>{
                "load rate=8 size=4KiB", "load rate=8 size=64KiB", "load rate=8 size=1MiB",
                "load rate=16 size=4KiB", "load rate=16 size=64KiB", "load rate=16 size=1MiB",
                "load rate=128 size=4KiB", "load rate=128 size=64KiB", "load rate=128 size=1MiB"}));
}

TEST(Comparison, LongerLatencyIsSlower) {
  std::vector<Record> a, b;
  for (int i = 0; i < 12; ++i) {
    const std::string run = std::to_string(10 + i);
    a.push_back(record(run, triad, 1e-5 * (1 + 1e-4 * (i % 3)), Quantity::latency));
    b.push_back(record(run, triad, 1.2e-5 * (1 + 1e-4 * (i % 4)), Quantity::latency));
  }
  const Comparison comparison =
      compare(result_set_of(a, "a"), result_set_of(b, "b"), nullptr, plain_rule);
  EXPECT_EQ(comparison.cells[0].judgement.verdict, Verdict::slower);
  EXPECT_NEAR(comparison.cells[0].ratio, 1.2, 0.001);
}

TEST(Comparison, EqualNeedsPairs) {
  EXPECT_EQ(compare(set_of("a", 1), set_of("b", 1), nullptr, plain_rule).all.judgement.verdict,
            Verdict::equal);
  const Comparison unpaired = compare(set_of("a", 1, 0.002, 12, false),
                                      set_of("b", 1, 0.002, 12, false), nullptr, plain_rule);
  EXPECT_FALSE(unpaired.paired);
  EXPECT_EQ(unpaired.cells[0].judgement.code, "unpaired");
  EXPECT_EQ(unpaired.all.judgement.verdict, Verdict::inconclusive);
}

TEST(Comparison, PairsAreMatchedByNumberNotByOrder) {
  ResultSet a = set_of("a", 1), b = set_of("b", 1);
  // A drift that both sides share cancels only if pairs are matched.
  for (ResultSet* set : {&a, &b}) {
    for (Series& series : set->series) {
      for (Point& point : series.points) {
        point.value *= 1 + 0.1 * static_cast<double>(*set->units[point.unit].pair);
      }
    }
  }
  b.units[3].pair = std::nullopt;  // never finished
  const Comparison comparison = compare(a, b, nullptr, plain_rule);
  EXPECT_EQ(comparison.cells[0].effect.pairs, 11u);
  EXPECT_EQ(comparison.cells[0].judgement.verdict, Verdict::equal);
  EXPECT_EQ(comparison.units_a, 12u);
  EXPECT_EQ(comparison.units_b, 11u);
}

TEST(Comparison, TheControlIsJudgedPerCell) {
  const ResultSet a = set_of("a", 1), b = set_of("b", 1);
  const ResultSet again = set_of("again", 1), moved = set_of("moved", 1.03);
  EXPECT_EQ(compare(a, b, &again, plain_rule).cells[0].control_state, Control::quiet);
  const Comparison voided = compare(a, b, &moved, plain_rule);
  EXPECT_EQ(voided.cells[0].judgement.code, "control_moved");
  EXPECT_EQ(voided.all.judgement.verdict, Verdict::invalid);
  const ResultSet few = set_of("again", 1, 0.002, 4);
  EXPECT_EQ(compare(a, b, &few, plain_rule).cells[0].judgement.code, "control_too_short");
}

TEST(Comparison, UnsoundResultsAreNeverWinners) {
  const auto code = [](const std::vector<Record>& a, const std::vector<Record>& b) {
    const Comparison comparison =
        compare(result_set_of(a, "a"), result_set_of(b, "b"), nullptr, plain_rule);
    EXPECT_EQ(comparison.cells[0].judgement.verdict, Verdict::invalid);
    EXPECT_EQ(comparison.all.judgement.verdict, Verdict::invalid);
    return comparison.cells[0].judgement.code;
  };
  const Record good = record("10", triad, 1e11);
  EXPECT_EQ(code({good}, {record("10", copy, 1e11)}), "missing");
  Record failed = good;
  failed.status = RecordStatus::failed;
  failed.value.reset();
  failed.reason = "element 3 is 1";
  EXPECT_EQ(code({good}, {failed}), "unsound_result");
  Record impossible = good;
  impossible.value->share = 1.3;
  EXPECT_EQ(code({good}, {impossible}), "unsound_result");
  Record other_work = good;
  other_work.work->bytes = 2e6;
  EXPECT_EQ(code({good}, {other_work}), "unequal_work");
  EXPECT_EQ(code({good}, {record("10", triad, 0)}), "no_logarithm");
}

Record serving(double ttft, std::vector<std::pair<std::string, double>> counts) {
  Record record;
  record.run = "10";
  record.cell = Cell("serving", {{"request_rate", "16"}});
  record.status = RecordStatus::passed;
  record.source = Source{"vllm", "", "x.json", 0};
  record.metrics.push_back({"mean_ttft", ttft, "s", Better::lower, ""});
  for (auto& [name, value] : counts) {
    record.metrics.push_back({name, value, "1", Better::neither, ""});
  }
  return record;
}

TEST(Comparison, RepliesWithoutTokensAreNoSuccess) {
  const auto judgement = [](const Record& b) {
    return compare(result_set_of({serving(1.0, {{"total_output_tokens", 1000}})}, "a"),
                   result_set_of({b}, "b"), nullptr, plain_rule)
        .cells[0]
        .judgement;
  };
  EXPECT_THAT(judgement(serving(0.1, {{"empty_replies", 378}})).reason,
              HasSubstr("378 replies are empty"));
  EXPECT_THAT(judgement(serving(0.1, {{"failed", 983}})).reason, HasSubstr("983 requests failed"));
  EXPECT_EQ(judgement(serving(0.5, {{"total_output_tokens", 600}})).code, "unequal_work");
  EXPECT_NE(judgement(serving(0.5, {{"total_output_tokens", 980}})).code, "unequal_work");
}

TEST(Comparison, SaysWhatIsMissing) {
  const ResultSet empty = result_set_of({}, "empty");
  const Comparison nothing = compare(empty, empty, nullptr, plain_rule);
  EXPECT_EQ(nothing.all.judgement.reason, "neither has a result to compare");
  const ResultSet a = result_set_of({record("10", triad, 1e11)}, "a");
  const ResultSet b = result_set_of({record("10", copy, 1e11)}, "b");
  EXPECT_EQ(compare(a, b, nullptr, plain_rule).all.judgement.reason,
            "the two have no cell in common");
}

TEST(Comparison, ManyEqualCellsRaiseNoAlarm) {
  // 100 cells that differ slightly by chance: judged together, none of them does.
  Random random(5);
  std::vector<Record> a, b;
  for (int cell = 0; cell < 100; ++cell) {
    for (int i = 0; i < 12; ++i) {
      const Cell at("memory", {{"size", std::to_string(cell)}});
      a.push_back(record(std::to_string(10 + i), at, 1e11 * std::exp(0.02 * random.normal())));
      b.push_back(record(std::to_string(10 + i), at, 1e11 * std::exp(0.02 * random.normal())));
    }
  }
  ResultSet set_a = result_set_of(a, "a"), set_b = result_set_of(b, "b");
  for (ResultSet* set : {&set_a, &set_b}) {
    for (std::size_t i = 0; i < set->units.size(); ++i) set->units[i].pair = i;
    set->paired = true;
  }
  const Comparison comparison = compare(set_a, set_b, nullptr, plain_rule);
  std::size_t alone = 0, different = 0;
  for (const CellComparison& cell : comparison.cells) {
    alone += cell.effect.t95.low > 0 || cell.effect.t95.high < 0 ? 1 : 0;
    different += is_different(cell.judgement.verdict) ? 1 : 0;
  }
  EXPECT_GT(alone, 0u) << "by itself, about one in twenty";
  EXPECT_EQ(different, 0u);
  ASSERT_TRUE(comparison.all.ratio95);
  EXPECT_LT(comparison.all.ratio95->low, 1);
  EXPECT_GT(comparison.all.ratio95->high, 1);
}

TEST(ResultSet, PromptsThatWereInACacheAreNamed) {
  const auto load = [](const char* run, const char* rate, double hits) {
    Record one = record(run, Cell("serving", {{"request_rate", rate}}), 1);
    one.metrics = {{"output_throughput", 10, "tokens/s", Better::higher, "10"},
                   {"prefix_cache_hit_rate", hits, "1", Better::neither, ""}};
    return one;
  };
  const ResultSet set =
      result_set_of({load("1", "2", 0.25), load("2", "2", 0.594), load("1", "4", 0.005)}, "x");
  EXPECT_THAT(set.problems, testing::ElementsAre(
                                "serving request_rate=2: up to 59.4% of the prompts' tokens came "
                                "from the server's prefix cache, which makes it faster"));
}

TEST(ResultSet, RunsOfASearchAreNoMeasurements) {
  std::vector<Record> records = {record("1", triad, 5), record("2", triad, 7), record("3", copy, 1),
                                 record("4", copy, 1)};
  for (Record& one : records) one.notes.emplace_back(tuning_note, search_part);
  records[0].notes.back().second = "proof";
  for (const std::size_t failed : {2u, 3u}) {
    records[failed].status = RecordStatus::error;
    records[failed].reason = "it ended with 9";
  }
  const ResultSet set = result_set_of(records, "x");
  ASSERT_EQ(set.units.size(), 1u);
  const Series* series = set.find({triad.id(), "bandwidth"});
  ASSERT_NE(series, nullptr);
  ASSERT_EQ(series->points.size(), 1u);
  EXPECT_EQ(series->points[0].value, 5);
  EXPECT_THAT(set.problems, testing::ElementsAre(
                                "2 of 3 runs of a search failed, most often (2): it ended with 9"));
}

TEST(ResultSet, SeveralValuesAreSaidOnceForAllMetricsOfACell) {
  std::vector<Record> records;
  for (int i = 0; i < 7; ++i) {
    Record one = record("1", triad, 1e9 + i * 1e6);
    one.metrics = {{"step_time", 1.0 + i, "s", Better::lower, ""}};
    records.push_back(std::move(one));
  }
  EXPECT_THAT(result_set_of(records, "x").problems,
              testing::ElementsAre("run 1 has several values of memory op=triad, of which the last "
                                   "one counts: bandwidth 1e+09, 1.001e+09, 1.002e+09, 1.003e+09, "
                                   "1.004e+09 and 2 more bytes/s; and of 1 more metric"));
}

TEST(ResultSet, WhatIsStoredTwiceIsNoSecondValue) {
  const ResultSet set = result_set_of({record("1", triad, 2), record("1", triad, 2)}, "x");
  EXPECT_EQ(set.series.at(0).points.size(), 1u);
  EXPECT_TRUE(set.problems.empty());
}

TEST(ResultSet, AMetricInTwoUnitsIsAFault) {
  Record other = record("2", copy, 1);
  Record one = other;
  one.run = "1";
  one.metrics = {{"rate", 5, "tokens/s", Better::higher, ""}};
  other.metrics = {{"rate", 5, "1/s", Better::higher, ""}};
  const ResultSet set = result_set_of({one, other}, "x");
  EXPECT_THAT(set.fault_of(copy.id()),
              HasSubstr("rate is in tokens/s in one run and in 1/s in another"));
  EXPECT_EQ(set.find({copy.id(), "rate"})->points.size(), 1u) << "never pooled";
}

TEST(ResultSet, ThreadsThatACpuLimitStoppedAreSaid) {
  const auto side = [](double stopped) {
    std::vector<Record> runs;
    for (const char* run : {"1", "2"}) {
      runs.push_back(record(run, triad, 1e9));  // without samples, as of a load
      Telemetry& telemetry = runs.back().telemetry.emplace();
      telemetry.trace.window = 1;
      telemetry.summary.host.cgroup_throttled_seconds = stopped;
    }
    return result_set_of(runs, "x");
  };
  EXPECT_THAT(side(0.8).problems,
              testing::ElementsAre("its CPU limit stopped threads while 2 of 2 results were "
                                   "measured"));
  EXPECT_THAT(side(0.005).problems, testing::IsEmpty()) << "half a percent of the time";
}

TEST(ResultSet, ThrottledSamplesAreSaidWithTheirShare) {
  const auto side = [](std::size_t throttled) {
    Record one = record("1", triad, 1e9);
    one.samples.emplace();
    one.samples->samples.assign(200, {1e-3, 1.9e9, false});
    for (std::size_t i = 0; i < throttled; ++i) one.samples->samples[i].throttled = true;
    return result_set_of({one}, "x");
  };
  EXPECT_THAT(side(200).problems,
              testing::ElementsAre(HasSubstr("100% of its samples were throttled (200 of 200)")));
  EXPECT_THAT(side(1).problems, testing::IsEmpty()) << "half a percent";
  const Comparison comparison = compare(side(0), side(60), nullptr, plain_rule);
  EXPECT_THAT(comparison.problems,
              testing::Contains(HasSubstr("x: 30% of its samples were throttled")));
}

TEST(ResultSet, KeepsRunsApartAndNamesWhatItLeavesOut) {
  Record error = record("11", triad, 1e11);
  error.status = RecordStatus::error;
  error.value.reset();
  error.reason = "out of memory";
  const ResultSet set = result_set_of({record("12", triad, 2), record("10", triad, 1), error,
                                       record("12", triad, 3), record("10", copy, 5)},
                                      "x");
  ASSERT_EQ(set.units.size(), 2u);
  EXPECT_EQ(set.units[0].run, "10") << "in time order";
  const Series* series = set.find({triad.id(), "bandwidth"});
  ASSERT_NE(series, nullptr);
  ASSERT_EQ(series->points.size(), 2u);
  EXPECT_EQ(series->points[1].value, 3) << "the last of a run's two";
  EXPECT_THAT(set.problems,
              testing::UnorderedElementsAre(
                  HasSubstr("error: out of memory"),
                  "run 12 has several values of memory op=triad, of which the last one counts: "
                  "bandwidth 2, 3 bytes/s"));
  EXPECT_EQ(set.find({triad.id(), "latency"}), nullptr);
}

}  // namespace
}  // namespace assay
