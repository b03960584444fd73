#include "judge/trace/traced_operations.h"

#include <gtest/gtest.h>

#include "support/trace_text.h"

namespace assay {
namespace {

std::vector<TracedOperation> operations_of(const std::string& events) {
  const Timeline timeline = timeline_of(kineto_text(events));
  std::vector<TraceIndex> indices;
  indices.emplace_back(timeline);
  const std::vector<TraceReport> reports = {report_trace(indices[0])};
  return traced_operations(choose_step(indices, reports, "").value());
}

/// The product of 64x128 and 128x32.
std::string product(const char* external) {
  return std::string(
             R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":4,"ts":0,"dur":1,)") +
         R"("args":{"Input Dims":[[64,128],[128,32]],"Input type":["float","float"],"External id":)" +
         external + "}},";
}

TEST(TracedOperations, AreSummedByNameWithTheirRates) {
  const auto operations = operations_of(
      product("1") + product("2") +
      gpu_event("kernel", "my_gemm", "10", "10", "\"External id\":1") + "," +
      gpu_event("kernel", "my_gemm", "20", "30", "\"External id\":2") + "," +
      gpu_event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", "50", "10", "\"bytes\":40000"));
  ASSERT_EQ(operations.size(), 2u);
  EXPECT_EQ(operations[0].name, "my_gemm");
  EXPECT_EQ(operations[0].count, 2u);
  EXPECT_EQ(operations[0].total, 40'000);
  EXPECT_EQ(operations[0].median, 10'000);
  EXPECT_DOUBLE_EQ(operations[0].share, 0.8);
  EXPECT_DOUBLE_EQ(operations[0].flop_rate.value_or(0), 2 * 2.0 * 64 * 128 * 32 / 40e-6);
  EXPECT_FALSE(operations[0].byte_rate);
  EXPECT_EQ(operations[1].category, "copy");
  EXPECT_DOUBLE_EQ(operations[1].byte_rate.value_or(0), 4e9);
  EXPECT_FALSE(operations[1].flop_rate);
}

TEST(TracedOperations, HaveNoRateIfSeveralKernelsShareAProduct) {
  const auto operations =
      operations_of(product("1") + gpu_event("kernel", "my_gemm", "10", "10", "\"External id\":1") +
                    "," + gpu_event("kernel", "gemm_splitKreduce", "20", "5", "\"External id\":1"));
  ASSERT_EQ(operations.size(), 2u);
  EXPECT_FALSE(operations[0].flop_rate);
  EXPECT_FALSE(operations[1].flop_rate);
}

}  // namespace
}  // namespace assay
