// What somebody who opens the page sees first.
#include "judge/report/first_screen/first_screen.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "judge/compare/disturbance.h"
#include "judge/report/report.h"
#include "unit/report_input.h"

namespace assay::report {
namespace {

using testing::Contains;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Comparison compared(const Environment& a, const Environment& b) {
  return compare(a.results, b.results, nullptr, VerdictRule{});
}

/// A campaign of "host" and "container", whose cells take `factors` times as long there.
ReportInput campaign_of(const std::vector<double>& factors, std::size_t pairs = 12) {
  std::vector<Series> a, b;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const Axes axes = {{"op", "triad"}, {"size", fmt::format("{}MiB", i + 1)}};
    a.push_back(series_of("memory", axes, around(1e9, pairs)));
    b.push_back(series_of("memory", axes, around(1e9 / factors[i], pairs)));
  }
  ReportInput input;
  input.environments = {environment_of("host", a), environment_of("container", b)};
  input.comparisons = {compared(input.environments[0], input.environments[1])};
  input.campaign = input.operands = "study";
  return input;
}

TEST(FirstScreen, TheTitleIsTheQuestion) {
  ReportInput input = campaign_of({1});
  EXPECT_EQ(question_of(input), "Does container cost anything here?");
  input.campaign.clear();
  EXPECT_EQ(question_of(input), "Does container cost anything against host?");
  input.comparisons.push_back(input.comparisons[0]);
  input.comparisons[1].name_b = "vm";
  EXPECT_EQ(question_of(input), "Do container and vm cost anything against host?");
  input.description = "a study";
  EXPECT_THAT(question_of(input), HasSubstr("container and vm"));
  EXPECT_EQ(make_document(input).purpose, "a study");
  input.description = "What does a container cost?";
  EXPECT_EQ(question_of(input), "What does a container cost?");
  EXPECT_EQ(make_document(input).purpose, "") << "it is the title";
  input.title = "Mine";
  EXPECT_EQ(question_of(input), "Mine");
}

TEST(FirstScreen, TheAnswerIsOneSentenceWithNumberAndInterval) {
  const auto answer = [](const std::vector<double>& factors) {
    return make_document(campaign_of(factors)).answers.at(0);
  };
  const Answer slower = answer({1.1});
  EXPECT_EQ(slower.verdict, Verdict::slower);
  EXPECT_EQ(slower.lead, "Yes: ");
  EXPECT_THAT(slower.sentence, ContainsRegex("^container takes 10% more time than host "
                                             "\\(95% interval .*% to .*% more\\)\\.$"));
  EXPECT_TRUE(slower.proven);
  EXPECT_THAT(answer({1.1, 1.1, 1}).sentence,
              ContainsRegex("of the geometric mean over 3 cells .*; 2 of 3 cells slower\\.$"));
  const Answer equal = answer({1, 1});
  EXPECT_EQ(equal.lead, "No: ");
  EXPECT_THAT(equal.sentence, HasSubstr("; all 2 cells are equal within 2%."));
  EXPECT_EQ(answer({0.8}).lead, "No, it is faster: ");
  EXPECT_EQ(answer({0.8, 1.25}).lead, "Yes and no: ");
  // One slower cell among faster ones that are not proven to be.
  ReportInput input = campaign_of({1.3, 0.5});
  input.comparisons[0].cells[1].judgement.verdict = Verdict::inconclusive;
  input.comparisons[0].all.judgement.verdict = Verdict::slower;
  const Answer one = make_document(input).answers.at(0);
  EXPECT_EQ(one.lead, "Yes: ");
  EXPECT_THAT(one.sentence, HasSubstr("in memory triad 1MiB, container takes 30% more time"));
  EXPECT_THAT(answer({0.8, 1.3}).sentence,
              ContainsRegex("^in memory triad 2MiB, container takes 30% more time"));
}

TEST(FirstScreen, TheAnswerNamesTheSubject) {
  const auto lead = [](ReportInput input) {
    input.description = "Does the container cost anything?";
    input.subject = "The container";
    return make_document(input).answers.at(0).lead;
  };
  EXPECT_EQ(lead(campaign_of({1})), "The container costs nothing: ");
  EXPECT_EQ(lead(campaign_of({1.1})), "The container costs time: ");
  EXPECT_EQ(lead(campaign_of({0.8})), "The container saves time: ");
  EXPECT_EQ(lead(campaign_of({0.8, 1.25})),
            "The container costs time in some cells and saves it in others: ");
  ReportInput open = campaign_of({1.01});
  open.comparisons[0].all.judgement.verdict = Verdict::inconclusive;
  EXPECT_EQ(lead(open), "The container costs nothing that 12 pairs can show: ");
  open.comparisons[0].all.judgement.verdict = Verdict::invalid;
  EXPECT_EQ(lead(open), "No answer: ");
  open.comparisons[0].emulated = true;
  EXPECT_THAT(lead(open), testing::StartsWith("From a model, not measured: "));
}

TEST(FirstScreen, AnEnvironmentMeasuredTwiceIsDescribedNotCompared) {
  ReportInput input = campaign_of({1});
  input.repeated = true;
  const Document document = make_document(input);
  EXPECT_EQ(document.question, "What does host reach?");
  EXPECT_FALSE(document.answers.at(0).verdict.has_value());
  EXPECT_EQ(document.cards.at(3).command, "assay doctor");
}

TEST(FirstScreen, ThePrintedPageHasTheKeyTableAndHowToRepeat) {
  const Document document = make_document(campaign_of(std::vector<double>(10, 1.1)));
  ASSERT_TRUE(document.headline.has_value());
  EXPECT_EQ(document.headline->rows.size(), 8u);
  EXPECT_THAT(document.headline->caption, HasSubstr(": the first 8 of 10"));
  for (const Column& column : document.headline->columns) {
    EXPECT_FALSE(column.detail || column.key == "reason") << column.key;
  }
  EXPECT_EQ(document.headline->rows[0].size(), document.headline->columns.size());
  EXPECT_EQ(document.cards.back().heading, "How to repeat it");
  EXPECT_EQ(document.cards.back().command, "assay campaign study/plan.yaml --out study-again");
}

TEST(FirstScreen, AnUnprovenNumberIsGreyAndABoundIsNot) {
  ReportInput input = campaign_of({1.01});
  Summation& all = input.comparisons[0].all;
  all.judgement = {Verdict::inconclusive, "cells_open", "0 of 1 cells proven equal"};
  all.ratio95 = Interval{0.97, 1.06};
  Answer answer = make_document(input).answers.at(0);
  EXPECT_FALSE(answer.proven);
  EXPECT_EQ(answer.sentence, "container takes 3% less to 6% more time than host (95% interval).");
  EXPECT_THAT(to_html(make_document(input)), HasSubstr("<span class=\"unproven\">container takes"));
  all.ratio95.reset();
  answer = make_document(input).answers.at(0);
  EXPECT_TRUE(answer.proven);
  EXPECT_THAT(answer.sentence, HasSubstr("container takes at most "));
  // Rows of the table that prove nothing are grey.
  input.comparisons[0].cells[0].judgement.verdict = Verdict::inconclusive;
  EXPECT_THAT(to_html(make_document(input)), HasSubstr("<tr class=\"unproven\">"));
  input.comparisons[0].cells[0].judgement.verdict = Verdict::slower;
  EXPECT_THAT(to_html(make_document(input)), Not(HasSubstr("<tr class=\"unproven\">")));
}

TEST(FirstScreen, TheTitleOfOthersIsNotAnsweredWithYes) {
  ReportInput input = campaign_of({1.1});
  input.title = "How much does it cost?";
  EXPECT_EQ(make_document(input).answers.at(0).lead, "");
}

TEST(FirstScreen, ThePictureHasADozenCellsTheLargestFirst) {
  std::vector<double> factors;
  for (int i = 0; i < 15; ++i) factors.push_back(1.1 + 0.01 * i);
  ReportInput input = campaign_of(factors);
  Document document = make_document(input);
  ASSERT_TRUE(document.picture.has_value());
  const Chart& chart = document.picture->chart;
  EXPECT_EQ(chart.kind, ChartKind::ratio);
  ASSERT_EQ(chart.table.rows.size(), 12u);
  EXPECT_EQ(std::get<std::string>(field(chart.table, 0, "label")), "memory triad 15MiB");
  EXPECT_NEAR(std::get<double>(field(chart.table, 0, "change")), 0.24, 1e-9);
  EXPECT_EQ(document.picture->link_text, "All 15 cells");
  const std::string html = to_html(document);
  EXPECT_THAT(html, HasSubstr("<a href=\"#ratios\">All 15 cells</a>"));
  EXPECT_THAT(html, HasSubstr("<section id=\"ratios\""));
  // What is proven comes before what only looks large.
  input.comparisons[0].cells.back().judgement.verdict = Verdict::inconclusive;
  document = make_document(input);
  EXPECT_EQ(std::get<std::string>(field(document.picture->chart.table, 0, "label")),
            "memory triad 14MiB");
}

TEST(FirstScreen, SeveralComparisonsShareThePicture) {
  ReportInput input = campaign_of({1.1});
  input.environments.push_back(input.environments[1]);
  input.environments[2].results.name = "vm";
  input.comparisons.push_back(compared(input.environments[0], input.environments[2]));
  const Document document = make_document(input);
  EXPECT_EQ(document.answers.size(), 2u);
  const Table& table = document.picture->chart.table;
  EXPECT_EQ(std::get<std::string>(field(table, 0, "label")), "container: memory triad");
  EXPECT_EQ(std::get<std::string>(field(table, 1, "label")), "vm: memory triad");
  EXPECT_THAT(document.cards[2].lines, Contains("container, vm: 1 SLOWER of 1 cell each"));
}

TEST(FirstScreen, TheCardsSayWhereWhatHowSureAndWhy) {
  ReportInput input = campaign_of({1.1});
  const Json gpu = {{"name", "AMD Instinct MI300X"},
                    {"memory_bytes", 206158430208ULL},
                    {"compute_partition", "SPX"},
                    {"memory_partition", "NPS1"}};
  Json facts = {{"accelerators", {gpu, gpu}},
                {"cpu", {{"model", "AMD EPYC 9654"}, {"cores", 192}}},
                {"memory", {{"bytes", 25276063744ULL}}},
                {"host", {{"name", "node7"}, {"kernel", "6.1.0"}}}};
  input.environments[0].results.fingerprints = {facts};
  facts["cgroup"] = {{"cpu_limit", 0.5}};
  input.environments[1].results.fingerprints = {facts};
  for (Environment& environment : input.environments) {
    for (Unit& unit : environment.results.units) unit.taken = 0.05;
  }
  input.environments[1].results.units[0].taken = 0.81;
  input.comparisons = {compared(input.environments[0], input.environments[1])};
  const std::vector<Card> cards = make_document(input).cards;
  ASSERT_EQ(cards.size(), 5u);
  EXPECT_THAT(cards[0].lines,
              ElementsAre("2 \u00D7 AMD Instinct MI300X, 192 GiB, SPX/NPS1",
                          "AMD EPYC 9654, 192 cores, memory 23.5 GiB", "named node7, Linux 6.1.0"));
  EXPECT_THAT(cards[1].lines,
              ElementsAre("1 cell: memory", "12 runs of each, in turns and a random order",
                          "Differences below 2% do not matter", "2026-01-31, 12:00 UTC"));
  EXPECT_THAT(cards[2].lines,
              ElementsAre("1 SLOWER of 1 cell",
                          "Other programs and the hypervisor used up to 81% of the CPUs' time in 1 "
                          "of 24 runs: on a quieter machine, fewer pairs would be enough"));
  EXPECT_EQ(cards[3].heading, "Likeliest cause");
  EXPECT_THAT(cards[3].lines,
              Contains("cgroup.cpu_limit: absent in host, 0.5 in container (CPU time this process "
                       "may use)"));
  EXPECT_EQ(cards[3].command, "assay campaign study/plan.yaml --out study-again");
}

TEST(FirstScreen, NobodyIsToldToRemoveADifferenceThatIsNotKnown) {
  const Card card = make_document(campaign_of({1.1})).cards.at(3);
  EXPECT_THAT(card.lines, ElementsAre("No difference between the environments is known",
                                      "Measure again, which shows whether the result stays:"));
  EXPECT_EQ(card.command, "assay campaign study/plan.yaml --out study-again");
}

TEST(FirstScreen, WithoutAComparisonTheCardCountsTheRuns) {
  const auto lines = [](const std::vector<double>& values) {
    ReportInput input;
    input.environments = {environment_of("host", {series_of("memory", {}, values)})};
    return make_document(input).cards.at(2).lines;
  };
  EXPECT_THAT(lines({1}), ElementsAre("One run: its interval does not show how runs differ"));
  EXPECT_THAT(lines({1, 2}),
              ElementsAre("2 runs: ranges show how they differ; 6 runs give intervals"));
  EXPECT_THAT(lines({1, 2, 3, 4, 5, 6}), ElementsAre("6 runs: intervals show how they differ"));
}

TEST(FirstScreen, TheCardSaysWhichMachineIsWhich) {
  ReportInput input = campaign_of({1.1});
  Json facts = {{"cpu", {{"model", "AMD EPYC 9654"}, {"cores", 2}}},
                {"host", {{"name", "node7"}, {"kernel", "6.1.0"}}}};
  input.environments[0].results.fingerprints = {facts};
  facts["host"]["name"] = "(none)";
  input.environments[1].results.fingerprints = {facts};
  EXPECT_THAT(make_document(input).cards.at(0).lines,
              ElementsAre("AMD EPYC 9654, 2 cores", "host: named node7, Linux 6.1.0",
                          "container: Linux 6.1.0"));
}

TEST(FirstScreen, WhatToTryNextFollowsFromTheVerdict) {
  ReportInput input = campaign_of({1});
  Comparison& comparison = input.comparisons[0];
  const auto command = [&] { return make_document(input).cards.at(3).command; };
  const auto lines = [&] { return make_document(input).cards.at(3).lines; };
  EXPECT_EQ(command(), "") << "nothing is to be done about EQUAL";
  comparison.all.judgement.verdict = Verdict::inconclusive;
  comparison.cells[0].judgement.more_pairs = 20;
  EXPECT_EQ(command(), "assay campaign study/plan.yaml --out study --pairs 32");
  EXPECT_THAT(lines(), Contains("More pairs would tell:"));
  comparison.cells[0].judgement.more_pairs = 9000;
  EXPECT_EQ(command(), "assay campaign study/plan.yaml --out study --pairs 48");
  EXPECT_THAT(lines(), Contains("More pairs, which tell how many more are needed:"))
      << "the cell's reason says 9000";
  comparison.all.judgement.verdict = Verdict::invalid;
  EXPECT_EQ(command(), "assay compare study");
  input.campaign.clear();
  input.operands = "a b";
  comparison.all.judgement.verdict = Verdict::slower;
  EXPECT_EQ(command(), "assay compare a b --all");
  comparison.paired = false;
  EXPECT_THAT(make_document(input).cards.at(2).lines, Contains(HasSubstr("Not measured in turns")));
}

TEST(FirstScreen, AMachineShowsWhereItIsFurthestBelowItsLimit) {
  Environment machine = environment_of(
      "host", {series_of("gemm", {{"shape", "8x8x8"}}, {4e11}, "flop_rate", "FLOP/s"),
               series_of("memory", {{"op", "triad"}}, {9e11}), series_of("launch", {}, {1e-6})});
  machine.results.series[0].roof = Roof{1e12, "datasheet"};
  machine.results.series[2].roof = Roof{1e12, "datasheet"};
  machine.results.fingerprints = {Json::object()};
  ReportInput input;
  input.environments = {machine};
  const Document document = make_document(input);
  EXPECT_EQ(document.question, "What does this machine reach?");
  EXPECT_EQ(document.answers.at(0).sentence,
            "40% to 90% of the roofline; gemm is furthest below it: 400.0 GFLOP/s (95% interval "
            "396.0 to 404.0).");
  const Chart& chart = document.picture->chart;
  ASSERT_EQ(chart.table.rows.size(), 2u) << "launch has no roofline";
  EXPECT_EQ(std::get<std::string>(field(chart.table, 0, "label")), "gemm");
  EXPECT_EQ(std::get<double>(field(chart.table, 0, "value")), 0.4);
  EXPECT_EQ(chart.settings["texts"][0], "40%, 400.0 GFLOP/s");
  EXPECT_THAT(document.cards.at(3).lines.at(0),
              "gemm flop_rate: 400.0 GFLOP/s of 1.000 TFLOP/s (datasheet)");
  EXPECT_EQ(document.cards.at(3).command, "assay doctor");
  // Results of another program say nothing about this machine.
  input.environments[0].results.fingerprints.clear();
  EXPECT_EQ(question_of(input), "What does host reach?");
}

TEST(FirstScreen, ResultsBesideAreNotTheMachines) {
  ReportInput input;
  input.environments = {environment_of("host", {series_of("memory", {}, {1e9})}),
                        environment_of("published", {series_of("memory", {}, {9e9})})};
  EXPECT_THAT(make_document(input).answers.at(0).sentence, HasSubstr("reaches 1.000 GB/s"));
}

TEST(FirstScreen, ALoadIsRepeatedByItsOwnCommand) {
  ReportInput input;
  input.environments = {
      environment_of("a", {series_of("serving", {}, {1}, "output_throughput", "tokens/s")})};
  input.environments[0].results.fingerprints = {Json::object()};
  EXPECT_EQ(make_document(input).cards.back().command, "assay load --url URL OPTION...");
}

TEST(FirstScreen, ALoadShowsWhatTheServerCarries) {
  std::vector<Series> series;
  for (const char* load : {"4", "8", "16"}) {
    const Axes axes = {{"max_concurrency", load}};
    series.push_back(
        series_of("serving", axes, {100 * std::stod(load)}, "output_throughput", "tokens/s"));
    series.push_back(
        series_of("serving", axes, {0.001 * std::stod(load)}, "mean_ttft", "s", Better::lower));
  }
  ReportInput input;
  input.environments = {environment_of("a", series)};
  input.environments[0].results.faults["serving max_concurrency=16"] = "3 requests failed";
  input.environments[0].results.voids["serving max_concurrency=4"] = {"sent late",
                                                                      {"ttft", "e2el"}};
  Record record;
  record.notes = {{"server", "vLLM"}, {"spawn", "vllm serve x"}, {"url", "http://127.0.0.1:1"}};
  input.environments[0].records = {record};
  const Document document = make_document(input);
  EXPECT_EQ(document.question, "How much load does fake:0 scripted device carry?");
  EXPECT_EQ(document.answers.at(0).sentence,
            "At most 800.0 tokens/s (95% interval 792.0 to 808.0), with 8 requests in flight, at a "
            "mean TTFT of 8.000 ms (95% interval 7.920 to 8.080).")
      << "the highest load is void";
  EXPECT_EQ(document.picture->chart.kind, ChartKind::latency);
  EXPECT_THAT(document.cards.at(0).lines, ElementsAre("Server: vLLM", "Started by: vllm serve x"));
  EXPECT_THAT(document.cards.at(2).lines,
              testing::IsSupersetOf({"Cannot be trusted: serving max_concurrency=16",
                                     "Void in part: serving max_concurrency=4 (e2el, ttft)"}));
}

TEST(FirstScreen, ATrainingShowsHowFastModelsTrain) {
  const auto trained = [](const char* model, double rate) {
    return series_of("train", {{"model", model}, {"batch", "8"}}, {rate}, "token_rate", "tokens/s");
  };
  ReportInput input;
  input.environments = {environment_of("a", {trained("7B", 100)})};
  EXPECT_EQ(question_of(input), "How fast does 7B train?");
  EXPECT_EQ(make_document(input).answers.at(0).sentence,
            "It trains at 100.0 tokens/s (95% interval 99.00 to 101.0).");
  input.environments = {environment_of("a", {trained("7B", 100), trained("30M", 9000)})};
  const Document document = make_document(input);
  EXPECT_EQ(document.question, "How fast do these models train?");
  EXPECT_THAT(document.answers.at(0).sentence,
              ContainsRegex("^30M trains at 9000 tokens/s .*; 7B at 100.0 tokens/s"));
  EXPECT_EQ(document.picture->chart.kind, ChartKind::bars);
  EXPECT_EQ(document.picture->chart.conditions, "") << "the chapter has them";
}

TEST(FirstScreen, EachKindOfNoteIsOneLine) {
  ReportInput input = campaign_of({1});
  for (int i = 0; i < 30; ++i) {
    input.comparisons[0].problems.push_back(
        fmt::format("host: run {}: launch: interrupted: the budget was spent", i));
  }
  EXPECT_THAT(
      make_document(input).notes,
      ElementsAre("host: run 0: launch: interrupted: the budget was spent (and 29 more such "
                  "results)"));
}

/// Table and charts show the same runs: those that form pairs.
TEST(FirstScreen, ChartsShowTheRunsOfTheTable) {
  ReportInput input;
  std::vector<double> slow_start = {100, 100, 100};
  for (int i = 0; i < 7; ++i) slow_start.push_back(200);
  input.environments = {
      environment_of("host", {series_of("copy", {{"to", "x"}, {"from", "y"}}, slow_start),
                              series_of("copy", {{"n", "1"}}, slow_start)}),
      environment_of("box", {series_of("copy", {{"n", "1"}}, around(200, 7))})};
  for (std::size_t i = 0; i < 7; ++i) input.environments[1].results.units[i].pair = i + 3;
  input.environments[0].results.series.erase(input.environments[0].results.series.begin() + 1);
  input.comparisons = {compared(input.environments[0], input.environments[1])};
  ASSERT_EQ(input.comparisons[0].cells.at(0).median_a, 200);
  const Document document = make_document(input);
  for (const Chapter& chapter : document.chapters) {
    for (const Block& block : chapter.blocks) {
      const auto* chart = std::get_if<Chart>(&block);
      if (chart == nullptr || chart->kind != ChartKind::bars) continue;
      EXPECT_EQ(std::get<double>(field(chart->table, 0, "value")), 200);
      EXPECT_EQ(std::get<double>(field(chart->table, 0, "runs")), 7);
    }
    if (chapter.id == "values") {
      EXPECT_EQ(std::get<Table>(chapter.blocks[0]).rows.size(), 17u) << "every run is listed";
    }
  }
}

TEST(Disturbance, SaysHowMuchInHowMany) {
  Disturbance all;
  EXPECT_EQ(used_by_others(all, "units"), "");
  all.add(0.05);
  EXPECT_EQ(used_by_others(all, "units"), "");
  Disturbance other;
  other.add(0.81);
  all.add(other);
  EXPECT_EQ(used_by_others(all, "units"),
            "other programs and the hypervisor used up to 81% of the CPUs' time in 1 of 2 units");
}

}  // namespace
}  // namespace assay::report
