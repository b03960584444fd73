#include "judge/trace/recomputed_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "judge/trace/trace_report.h"
#include "support/trace_text.h"

namespace assay {
namespace {

using testing::HasSubstr;

/// Two layers forward, then one backward, which computes the softmax again.
const std::string training = gpu_event("gpu_user_annotation", "forward attention", "0", "20") +
                             "," + gpu_event("kernel", "softmax", "1", "8") + "," +
                             gpu_event("kernel", "add_rms_norm", "10", "8") + "," +
                             gpu_event("gpu_user_annotation", "backward attention", "30", "40") +
                             "," + gpu_event("kernel", "softmax", "31", "9") + "," +
                             gpu_event("kernel", "softmax_backward", "40", "20") + "," +
                             gpu_event("gpu_user_annotation", "update optimizer", "80", "10") +
                             "," + gpu_event("kernel", "add_rms_norm", "81", "5");

Timeline own_trace(const std::string& cell) {
  return timeline_of(R"({"schemaVersion":1,"assay":["the cell is )" + cell +
                     R"("],"traceEvents":[)" + training + "]}");
}

std::int64_t recomputed_in(const Timeline& timeline) {
  const TraceIndex index(timeline);
  return recomputed_time(index, "0", index.devices().at("0"));
}

TEST(RecomputedWork, IsThatOfTheForwardPassInTheBackwardPass) {
  const Timeline timeline = own_trace("train model=30M recompute=layer attention=plain");
  ASSERT_TRUE(timeline.is_own);
  EXPECT_EQ(recomputed_in(timeline), 9'000);
  const TraceReport report = report_trace(TraceIndex(timeline));
  const auto& advice = report.devices.at(0).advice;
  const auto found = std::ranges::find_if(advice, [](const TraceAdvice& one) {
    return one.what.find("recompute=none") != std::string::npos;
  });
  ASSERT_NE(found, advice.end());
  EXPECT_EQ(found->most, 9'000);
  EXPECT_THAT(found->why, HasSubstr("9.000 us"));
}

TEST(RecomputedWork, IsNoneWhereNothingIsSetSo) {
  EXPECT_EQ(recomputed_in(own_trace("train model=30M recompute=none attention=plain")), 0);
  EXPECT_EQ(recomputed_in(own_trace("decode model=30M")), 0);
  EXPECT_EQ(recomputed_in(timeline_of(kineto_text(training))), 0) << "not assay's own";
}

}  // namespace
}  // namespace assay
