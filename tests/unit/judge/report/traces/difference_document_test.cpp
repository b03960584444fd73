#include "judge/report/traces/difference_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "judge/report/number_text.h"
#include "judge/report/report.h"
#include "support/trace_text.h"

namespace assay::report {
namespace {

using ::testing::HasSubstr;

StepParts step_of(const std::string& events) {
  const Timeline timeline = timeline_of(kineto_text(events));
  const TraceIndex index(timeline);
  return step_parts({&index});
}

/// Each row begins where the one before it ends, in whole ns, from A's step to B's.
void expect_chain(const Chart& chart, double a, double b) {
  const auto& rows = chart.table.rows;
  ASSERT_GE(rows.size(), 2u);
  EXPECT_EQ(std::get<double>(rows.front()[3]), a);
  EXPECT_EQ(std::get<double>(rows.back()[3]), b);
  double at = a;
  for (std::size_t i = 1; i + 1 < rows.size(); ++i) {
    EXPECT_EQ(std::get<double>(rows[i][2]), at) << i;
    at = std::get<double>(rows[i][3]);
    EXPECT_EQ(at, std::floor(at)) << i;
  }
  EXPECT_EQ(at, b);
}

TEST(DifferenceDocument, TheWaterfallLeadsFromOneStepToTheOther) {
  const auto a = step_of(gpu_event("kernel", "my_gemm", "0", "10") + "," +
                         gpu_event("kernel", "softmax", "15", "5"));
  const auto b = step_of(gpu_event("kernel", "my_gemm", "0", "14") + "," +
                         gpu_event("kernel", "softmax", "23", "4"));
  const TraceDifference difference = compare_traces({a}, {b}, {});
  const Chart chart = waterfall_chart(difference);
  EXPECT_EQ(chart.kind, ChartKind::waterfall);
  expect_chain(chart, 20'000, 27'000);
  ASSERT_EQ(chart.table.rows.size(), 5u) << "a step, idle, gemm, softmax, a step";
  EXPECT_EQ(std::get<std::string>(chart.table.rows[3][0]), "softmax");
  EXPECT_EQ(std::get<std::string>(chart.table.rows[3][1]), "less");
  const Document document = difference_document(difference, "a.json", "b.json", "now");
  EXPECT_EQ(document.answers.at(0).sentence,
            "A step takes 20.00 us in A and 27.00 us in B, 1.35x as long: gemm +4.000 us, idle "
            "+4.000 us, softmax -1.000 us.");
  EXPECT_FALSE(document.answers[0].proven) << "one trace a side proves nothing";
  EXPECT_THAT(to_html(document), HasSubstr("What makes a step of b.json take 1.35x as long"));
}

TEST(DifferenceDocument, CountsHaveDecimalsOnlyWhereStepsDiffer) {
  const auto shown = [](double count) {
    StepParts parts = step_of(gpu_event("kernel", "k", "0", "5"));
    parts.counts["k"] = count;
    const TraceDifference difference = compare_traces({parts}, {parts}, {});
    const Document document = difference_document(difference, "a", "b", "now");
    const Table& table = std::get<Table>(document.chapters.back().blocks.at(0));
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].key == "count_a") return text_of(table, table.rows.at(0), i);
    }
    return std::string();
  };
  EXPECT_EQ(shown(4), "4");
  EXPECT_EQ(shown(1.5), "1.500");
}

TEST(DifferenceDocument, MediansThatDoNotAddUpGetARowOfTheirOwn) {
  const auto step = [](double gemm, double idle) {
    StepParts parts;
    parts.step = gemm + idle;
    parts.categories = {{"gemm", gemm}, {"idle", idle}};
    return parts;
  };
  const std::vector<StepParts> a = {step(100, 10), step(110, 0), step(90, 50)};
  const std::vector<StepParts> b = {step(200, 10), step(150, 90), step(160, 300)};
  const TraceDifference difference = compare_traces(a, b, {});
  const Chart chart = waterfall_chart(difference);
  expect_chain(chart, 110, 240);
  const auto& rest = chart.table.rows.at(chart.table.rows.size() - 2);
  EXPECT_EQ(std::get<std::string>(rest[0]), "medians need not add up");
}

}  // namespace
}  // namespace assay::report
