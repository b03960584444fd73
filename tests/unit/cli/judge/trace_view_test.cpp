#include "cli/judge/trace_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "support/trace_text.h"

namespace assay::cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

TraceReport report_of(std::string_view events) {
  const Timeline timeline = timeline_of(kineto_text(events));
  return report_trace(TraceIndex(timeline));
}

const Style plain_style(false);

TEST(TraceView, ShowsTimesKernelsAndWhatToDo) {
  const TraceReport report = report_of(
      gpu_event("kernel", "gelu_kernel", "0", "3", R"("correlation":1)") + "," +
      gpu_event("kernel", "gelu_kernel", "97", "3", R"("correlation":2)") + "," +
      R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":1,"ts":90,"dur":1,)"
      R"("args":{"correlation":2}})");
  const std::string text = trace_text(report, 10, 100, plain_style);
  EXPECT_THAT(text,
              HasSubstr("GPU 0: 2 kernels, 0 copies and memsets on 1 stream; limited by launches"));
  EXPECT_THAT(text, ContainsRegex("recorded +100\\.0 us +100\\.0%"));
  EXPECT_THAT(text, ContainsRegex("busy +6\\.000 us +6\\.0%"));
  EXPECT_THAT(text, ContainsRegex("the host came late +94\\.00 us +94\\.0%"));
  EXPECT_THAT(text, HasSubstr("elementwise"));
  EXPECT_THAT(text, HasSubstr("1. capture the step in a graph: at most 94.00"));
  EXPECT_THAT(
      text, HasSubstr("2. fuse short kernels (torch.compile), or raise the batch: at most 6.000"));
}

TEST(TraceView, WhatIsUnknownIsNotShownAsZero) {
  const std::string text =
      trace_text(report_of(gpu_event("kernel", "k", "0", "3")), 10, 100, plain_style);
  EXPECT_THAT(text, Not(HasSubstr("in collectives")));
  EXPECT_THAT(text, Not(HasSubstr("product")));
  EXPECT_THAT(text, HasSubstr("What this trace cannot tell"));
}

TEST(TraceView, NamesInAFileMoveNoCursor) {
  const std::string text = trace_text(
      report_of(gpu_event("kernel", R"(evil\u001b[2J\nname)", "0", "3")), 10, 100, plain_style);
  EXPECT_THAT(text, HasSubstr("evil\\u001b[2J"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(TraceView, JsonHasIntegersOfNanoseconds) {
  const Json json = trace_json(report_of(gpu_event("kernel", "k", "5001650443483.001", "2.5")));
  const Json& device = json["devices"][0];
  EXPECT_EQ(device["busy_ns"], 2500);
  EXPECT_EQ(device["kernels_by_name"][0]["total_ns"], 2500);
  EXPECT_EQ(json["rank"], nullptr);
}

TEST(TraceView, RanksThatCannotBeComparedSayWhy) {
  RankComparison ranks;
  ranks.ranks = {{"a", "", 0}, {"b", "", 1}};
  ranks.problem = "they are of other runs";
  EXPECT_THAT(ranks_text(ranks, 100, plain_style),
              HasSubstr("cannot be compared: they are of other runs"));
  ranks.ranks.pop_back();
  EXPECT_EQ(ranks_text(ranks, 100, plain_style), "");
}

}  // namespace
}  // namespace assay::cli
