#include "judge/report/traces/trace_document.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "judge/report/report.h"
#include "judge/report/traces/trace_charts.h"
#include "support/trace_text.h"

namespace assay::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The page's document of one trace of these events, while the trace is there.
class TraceDocument : public ::testing::Test {
 protected:
  const Document& make(const std::string& events) {
    timeline_ = timeline_of(kineto_text(events));
    indices_.clear();
    indices_.emplace_back(timeline_);
    reports_ = {report_trace(indices_[0])};
    step_ = choose_step(indices_, reports_, "").value();
    document_ = trace_document({reports_, ranks_, rank_advice_, step_}, "now");
    return document_;
  }

  Timeline timeline_;
  std::vector<TraceIndex> indices_;
  std::vector<TraceReport> reports_;
  RankComparison ranks_;
  std::vector<TraceAdvice> rank_advice_;
  ShownStep step_;
  Document document_;
};

std::string launch_at(int ts, int correlation) {
  return fmt::format(
      R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":1,"ts":{},)"
      R"("dur":1,"args":{{"correlation":{}}}}},)",
      ts, correlation);
}

const std::string every_part =
    launch_at(0, 1) + launch_at(1, 2) + launch_at(45, 3) +
    gpu_event("kernel", "my_gemm", "10", "10", "\"correlation\":1") + "," +
    gpu_event("kernel", "ncclDevKernel_AllReduce_RING_LL", "15", "15", "\"correlation\":2", "8") +
    "," + gpu_event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", "28", "5", "", "9") + "," +
    gpu_event("kernel", "softmax", "50", "10", "\"correlation\":3") + "," +
    gpu_event("kernel", "unlaunched", "70", "10");

TEST_F(TraceDocument, BarsAddUpToTheStepInWholeNanoseconds) {
  const Document& document = make(every_part);
  const Chart& chart = document.picture->chart;
  EXPECT_EQ(chart.kind, ChartKind::stack);
  std::map<std::string, double> parts;
  double sum = 0;
  for (const auto& row : chart.table.rows) {
    const double time = std::get<double>(row[3]);
    EXPECT_EQ(time, std::floor(time));
    parts[std::get<std::string>(row[2])] = time;
    sum += time;
  }
  EXPECT_EQ(sum, 70'000);
  EXPECT_EQ(step_.gpus.at(0).times.span, 70'000);
  EXPECT_EQ(parts.at("computing"), 30'000);
  EXPECT_EQ(parts.at("collectives, nothing computed"), 10'000);
  EXPECT_EQ(parts.at("copies, nothing else"), 3'000);
  EXPECT_EQ(parts.at("idle: the host came late"), 17'000);
  EXPECT_EQ(parts.at("idle: cause unknown"), 10'000);
  EXPECT_THAT(document.answers.at(0).sentence,
              HasSubstr("Of a recording of 70.00 us, 42.9% is computing"));
  EXPECT_THAT(document.answers[0].sentence, HasSubstr("24.3% idle (the host came late)"));
  EXPECT_THAT(document.cards.at(0).lines, ::testing::Contains("1 trace, read as kineto"));
}

/// What collectives cost includes the waits for a straggler.
TEST_F(TraceDocument, AStragglerIsAdvisedBeforeTheCollectivesThatWaitForIt) {
  const auto first_advice = [&](double share) {
    rank_advice_ = {{"find out why rank 1 is late", "", 1000, share, "assay doctor"}};
    for (const Card& card : make(every_part).cards) {
      if (card.heading == "What to do") return card;
    }
    return Card();
  };
  // The largest gain is that of the host, 24%.
  const Card most = first_advice(0.13), little = first_advice(0.11);
  EXPECT_THAT(most.lines.at(0), HasSubstr("rank 1 is late"));
  EXPECT_EQ(most.command, "assay doctor");
  EXPECT_THAT(little.lines.at(0), Not(HasSubstr("rank 1 is late")));
}

TEST_F(TraceDocument, SaysWhyThereIsNoRoofline) {
  const Document& document = make(every_part);
  ASSERT_EQ(document.chapters.back().id, "roofs");
  EXPECT_THAT(document.chapters.back().paragraphs.at(0), HasSubstr("record_shapes=True"));
}

TEST_F(TraceDocument, WithoutWorkOfAGpuItSaysSo) {
  const Document& document =
      make(R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":4,"ts":0,"dur":1})");
  EXPECT_THAT(document.answers.at(0).sentence, HasSubstr("no work of a GPU"));
  EXPECT_THAT(document.answers[0].sentence, HasSubstr("the host did in a recording of 1.000 us"));
  EXPECT_FALSE(document.picture);
  ASSERT_EQ(document.chapters.size(), 1u);
  const Chart& chart = std::get<Chart>(document.chapters[0].blocks.at(0));
  ASSERT_EQ(chart.table.rows.size(), 1u);
  EXPECT_EQ(std::get<std::string>(chart.table.rows[0][5]), "aten::mm");
  EXPECT_THAT(to_html(document), HasSubstr("no work of a GPU"));
}

TEST_F(TraceDocument, NamesCannotBreakOutOfThePage) {
  const std::string page =
      to_html(make(gpu_event("kernel", "</script><script>window.broken=1</script>", "0", "10")));
  EXPECT_THAT(page, Not(HasSubstr("<script>window.broken")));
  EXPECT_THAT(page, HasSubstr("&lt;/script&gt;&lt;script&gt;window.broken=1"));
}

/// Names are the costliest part of a block, so neighbours have different ones.
TEST_F(TraceDocument, StaysSmallWithVeryManyEvents) {
  std::string events;
  constexpr int count = 30'000, names = 4'000;
  for (int i = 0; i < count; ++i) {
    events +=
        gpu_event("kernel", fmt::format("a_kernel_with_a_very_long_name_of_its_own_{}", i % names),
                  std::to_string(2 * i), "1") +
        (i + 1 < count ? "," : "");
  }
  const Document& document = make(events);
  const Chart& chart = std::get<Chart>(document.chapters.at(0).blocks.at(0));
  EXPECT_THAT(chart.summary, HasSubstr("30000 events"));
  EXPECT_THAT(chart.summary, HasSubstr("are drawn as one block"));
  EXPECT_LT(to_html(document).size(), 3u << 20);
}

TEST(RooflineChart, HasProductsBelowTheRoofsOfAKnownGpu) {
  Timeline timeline = timeline_of(kineto_text(
      R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":4,"ts":0,"dur":1,"args":{)"
      R"("Input Dims":[[4096,4096],[4096,4096]],"Input type":["c10::BFloat16","c10::BFloat16"],)"
      R"("External id":1}},)" +
      gpu_event("kernel", "my_gemm", "10", "1000", "\"External id\":1")));
  const auto chart_of = [&] {
    std::vector<TraceIndex> indices;
    indices.emplace_back(timeline);
    const std::vector<TraceReport> reports = {report_trace(indices[0])};
    return roofline_chart(choose_step(indices, reports, "").value());
  };
  EXPECT_THAT(chart_of().why_not, HasSubstr("does not name the GPU"));
  timeline.devices["0"] = {"AMD Instinct MI300X", 304};
  const RooflineChart made = chart_of();
  ASSERT_TRUE(made.chart) << made.why_not;
  ASSERT_EQ(made.chart->table.rows.size(), 1u);
  const auto& row = made.chart->table.rows[0];
  const double flops = 2.0 * 4096 * 4096 * 4096;
  EXPECT_DOUBLE_EQ(std::get<double>(row[4]), flops / (3 * 2.0 * 4096 * 4096));
  EXPECT_DOUBLE_EQ(std::get<double>(row[5]), flops / 1e-3);
  EXPECT_NEAR(std::get<double>(row[6]), flops / 1e-3 / 1307.4e12, 0.001);
}

}  // namespace
}  // namespace assay::report
