#include "cli/results_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/test_record.h"

namespace assay::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

const Style unstyled(false);

TEST(ResultsView, UnitsSuitTheQuantity) {
  EXPECT_EQ(format_value({Quantity::bandwidth, 4.2134e12, {}, {}, {}}), "4213 GB/s");
  EXPECT_EQ(format_value({Quantity::bandwidth, 5.1e6, {}, {}, {}}), "0.005100 GB/s");
  EXPECT_EQ(format_value({Quantity::flop_rate, 7.012e14, {}, {}, {}}), "701.2 TFLOP/s");
  EXPECT_EQ(format_value({Quantity::latency, 2.31e-6, {}, {}, {}}), "2.310 us");
  EXPECT_EQ(format_interval({Quantity::latency, 2.31e-6, {2.3e-6, 2.32e-6}, {}, {}}, 30),
            "[2.300, 2.320]");
  EXPECT_EQ(format_interval({Quantity::latency, 2.31e-6, {2.3e-6, 2.32e-6}, {}, {}}, 5),
            "too few samples");
}

TEST(ResultsView, ATablePerBenchmarkWithConstantAxesInItsHeading) {
  const std::vector<Record> records = {passed_record("1MiB"), passed_record("1GiB", 2e-3)};
  EXPECT_EQ(results_text(records, 0, unstyled),
            "memory op=triad\n"
            "  size  bandwidth  95% interval  of roofline   n  throttled  status\n"
            "  1MiB  3000 GB/s  [2970, 3030]        62.5%  30          1  passed\n"
            "  1GiB  1500 GB/s  [1485, 1515]        31.2%  30          1  passed\n"
            "\n");
}

TEST(ResultsView, RowsAreInTheOrderOfTheirNumbersAndWordsAsTheyCame) {
  std::vector<Record> records;
  for (const char* op : {"triad", "copy"}) {
    for (const char* size : {"16MiB", "64KiB", "1MiB", "4KiB"}) {
      records.push_back(passed_record(size));
      records.back().cell = Cell("memory", {{"op", op}, {"size", size}});
    }
  }
  const std::string text = results_text(records, 0, unstyled);
  std::size_t last = 0;
  for (const char* row : {"triad   4KiB", "triad  64KiB", "triad   1MiB", "triad  16MiB",
                          "copy    4KiB", "copy   64KiB", "copy    1MiB", "copy   16MiB"}) {
    const std::size_t at = text.find(row);
    ASSERT_NE(at, std::string::npos) << row << " in\n" << text;
    EXPECT_GT(at, last) << row;
    last = at;
  }
}

TEST(ResultsView, CollectivesHaveTheColumnsOfNcclTests) {
  Record record = passed_record("1GiB", 10e-3);
  record.cell = Cell("collective", {{"op", "all_reduce"}, {"size", "1GiB"}});
  record.notes = {{"bytes", "1073741824"}};
  record.value = Value{Quantity::bandwidth, 187.9e9, {187e9, 188e9}, std::nullopt, std::nullopt};
  EXPECT_EQ(results_text(std::vector{record}, 0, unstyled),
            "collective op=all_reduce size=1GiB\n"
            "      time       algbw       busbw  95% interval     n  throttled  status\n"
            "  10.00 ms  107.4 GB/s  187.9 GB/s  [187.0, 188.0]  30          1  passed\n"
            "\n");
}

TEST(ResultsView, AColumnOfValuesSaysWhatTheyAre) {
  const auto title = [](std::vector<Quantity> quantities) {
    std::vector<Record> records;
    for (const Quantity quantity : quantities) {
      records.push_back(passed_record(std::to_string(records.size() + 1) + "MiB"));
      records.back().value->quantity = quantity;
    }
    const std::string text = results_text(records, 0, unstyled);
    const std::size_t begin = text.find_first_not_of("sz ie\n", text.find("size"));
    return text.substr(begin, text.find("  ", begin) - begin);
  };
  EXPECT_EQ(title({Quantity::bandwidth, Quantity::bandwidth}), "bandwidth");
  EXPECT_EQ(title({Quantity::latency, Quantity::latency}), "latency");
  EXPECT_EQ(title({Quantity::flop_rate, Quantity::flop_rate}), "throughput");
  EXPECT_EQ(title({Quantity::bandwidth, Quantity::latency}), "bandwidth or latency");
}

TEST(ResultsView, RatesOfNetworksStandInGbPerSecondToo) {
  Record record = passed_record("1GiB", 10e-3);
  record.cell = Cell("rdma", {{"op", "write"}});
  record.value = Value{Quantity::bandwidth, 12.5e9, {12e9, 13e9}, std::nullopt, std::nullopt};
  EXPECT_EQ(results_text(std::vector{record}, 0, unstyled),
            "rdma op=write\n"
            "   bandwidth   Gb/s  95% interval     n  throttled  status\n"
            "  12.50 GB/s  100.0  [12.00, 13.00]  30          1  passed\n"
            "\n");
  // Ranks of one host use no network.
  record.cell = Cell("mpi", {{"library", "mpi"}});
  record.ranks = {{{0, 0, "a", 1}, "cuda:0", {}, {}}, {{1, 1, "a", 2}, "cuda:1", {}, {}}};
  EXPECT_THAT(results_text(std::vector{record}, 0, unstyled), Not(HasSubstr("Gb/s")));
  record.ranks[1].member.host = "b";
  EXPECT_THAT(results_text(std::vector{record}, 0, unstyled), HasSubstr("12.50 GB/s  100.0  ["));
  // A latency is no rate, and another program's rate is one.
  record.value = Value{Quantity::latency, 2e-6, {1e-6, 3e-6}, std::nullopt, std::nullopt};
  EXPECT_THAT(results_text(std::vector{record}, 0, unstyled), Not(HasSubstr("Gb/s")));
  record.value.reset();
  record.metrics = {{"bandwidth", 25e9, "bytes/s", Better::higher, "200 Gb/s"}};
  EXPECT_THAT(results_text(std::vector{record}, 0, unstyled),
              HasSubstr("25.00 GB/s  200.0  passed"));
}

TEST(ResultsView, CellsWithoutAValueSayWhySameReasonsTogether) {
  const std::vector<Record> records = {passed_record("1MiB"),
                                       unsupported_record("1TiB", "too large"),
                                       unsupported_record("2TiB", "too large")};
  const std::string text = results_text(records, 0, unstyled);
  EXPECT_THAT(text, HasSubstr("  1TiB          -"));
  EXPECT_THAT(text, HasSubstr("unsupported: 2 cells, e.g. memory size=1TiB\n  too large\n"));
  EXPECT_EQ(counts_text(records), "3 cells: 1 passed, 2 unsupported");
  EXPECT_EQ(outcome_text(records[1], unstyled), "unsupported: too large");
  EXPECT_EQ(outcome_text(records[0], unstyled), "3000 GB/s [2970, 3030] 62.5% of roofline");
}

/// What another program reported of one cell.
Record imported_record(std::vector<std::pair<std::string, std::string>> axes,
                       std::vector<Metric> metrics) {
  Record record;
  record.run = "nccl-tests-0123456789ab";
  record.cell = Cell("collective", std::move(axes));
  record.device.backend = "other";
  record.status = RecordStatus::passed;
  record.source = Source{.tool = "nccl-tests", .version = {}, .file = "a.log", .line = 3};
  record.metrics = std::move(metrics);
  return record;
}

TEST(ResultsView, ResultsOfOtherProgramsShowTheirMetricsInsteadOfAValue) {
  std::vector<Metric> many = {{"busbw", 184.92e9, "bytes/s", Better::higher, "184.92"},
                              {"time", 10887.4e-6, "s", Better::lower, "10887.4"},
                              {"rate", 1199.25, "tokens/s", Better::higher, "1199.25"},
                              {"wrong", 0, "1", Better::lower, "0"},
                              {"a", 1, "", Better::neither, ""},
                              {"b", 2.5, "", Better::neither, ""},
                              {"c", 3, "", Better::neither, ""}};
  const std::vector<Record> records = {
      imported_record({{"op", "all_reduce"}, {"size", "1GiB"}}, many),
      // An axis that the first cell lacks, and a metric that it has.
      imported_record({{"op", "all_reduce"}, {"place", "in"}},
                      {{"busbw", 1e9, "bytes/s", Better::higher, "1.00"}})};
  EXPECT_EQ(results_text(records, 0, unstyled),
            "collective op=all_reduce\n"
            "  size  place      time       busbw           rate  wrong  a      b  status\n"
            "  1GiB         10.89 ms  184.9 GB/s  1199 tokens/s      0  1  2.500  passed\n"
            "        in               1.000 GB/s                                  passed\n"
            "  and 1 more metric, see --json\n"
            "\n");
  EXPECT_EQ(device_text(records[0].device), "an unknown device");
  EXPECT_EQ(outcome_text(records[0], unstyled),
            "passed: busbw 184.9 GB/s, time 10.89 ms, rate 1199 tokens/s");
  EXPECT_EQ(outcome_text(imported_record({}, {}), unstyled), "passed");
}

TEST(ResultsView, AWideIntervalSaysWhatElseUsedTheCpus) {
  Record record = passed_record("1MiB");
  EXPECT_THAT(results_text(std::vector{record}, 0, unstyled), Not(HasSubstr("noisy")));
  record.value->interval95 = {0.72 * record.value->median, 2.01 * record.value->median};
  EXPECT_THAT(results_text(std::vector{record}, 0, unstyled),
              HasSubstr("the interval is 129% wide: what disturbed it is not known"));
  record.telemetry.emplace();
  record.telemetry->summary.host.others_share = 0.43;
  record.telemetry->summary.host.steal_share = 0.05;
  EXPECT_THAT(results_text(std::vector{record}, 0, unstyled),
              HasSubstr("noisy: memory\n  the interval is 129% wide: other "
                        "programs used 43% of the CPUs' time, the hypervisor took 5%\n"));
  record.ranks.resize(2);
  EXPECT_THAT(results_text(std::vector{record}, 0, unstyled),
              HasSubstr("the interval is 129% wide: the hypervisor took 5% of the CPUs' time on "
                        "rank 0's host; what other programs than the ranks used is not known\n"));
}

/// Who takes half of a CPU all the time makes its results too small, and no interval wide.
TEST(ResultsView, WhatOthersTookOfACpuIsSaidOnce) {
  std::vector<Record> records = {passed_record("1MiB"), passed_record("2MiB"),
                                 passed_record("4MiB")};
  for (Record& record : records) {
    record.device.backend = "cpu";
    record.device.emulated = false;
    record.telemetry.emplace();
  }
  EXPECT_THAT(results_text(records, 0, unstyled), Not(HasSubstr("shared")));
  records[0].telemetry->summary.host.others_share = 0.499;
  records[2].telemetry->summary.host.others_share = 0.06;
  records[2].telemetry->summary.host.steal_share = 0.06;
  EXPECT_THAT(results_text(records, 0, unstyled), HasSubstr("in 2 of 2 cells"));  // one is unknown
  records[1].telemetry->summary.host.others_share = 0.01;
  EXPECT_THAT(results_text(records, 0, unstyled),
              HasSubstr("\nshared: other programs and the hypervisor used up to 50% of the CPUs' "
                        "time in 2 of 3 cells; alone this machine is faster\n"));
  for (Record& record : records) record.device.backend = "cuda";  // the CPUs are not measured
  EXPECT_THAT(results_text(records, 0, unstyled), Not(HasSubstr("shared")));
}

TEST(ResultsView, FlagsOfOtherProgramsResultsStandBelow) {
  Record record = imported_record({{"op", "x"}}, {{"rate", 1, "1/s", Better::higher, "1"}});
  record.notes = {{"model", "m"}, {"flag", "378 replies are empty"}};
  const std::vector<Record> records = {record};
  EXPECT_THAT(results_text(records, 0, unstyled),
              HasSubstr("flagged: collective\n  378 replies are empty\n"));
}

TEST(ResultsView, NoColourUnlessAskedFor) {
  const std::vector<Record> records = {passed_record("1MiB"), unsupported_record("1TiB", "x")};
  EXPECT_THAT(results_text(records, 0, unstyled), Not(HasSubstr("\x1b")));
  EXPECT_THAT(results_text(records, 0, Style(true)), HasSubstr("\x1b[33munsupported\x1b[0m"));
}

}  // namespace
}  // namespace assay::cli
