// What cells of tensor_parallel say together: how much faster ranks are, and through which library.
#include "measure/benchmarks/tensor_parallel/tensor_conclusions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::HasSubstr;

CellValue value_of(const char* model, const char* ranks, const char* library, double seconds,
                   double exposed = 0, double message = 0) {
  CellValue value;
  value.cell = Cell("tensor_parallel", {{"model", model},
                                        {"batch", "4"},
                                        {"ranks", ranks},
                                        {"library", library},
                                        {"launch", "graph"}});
  value.value = seconds;
  if (message > 0) {
    value.metrics = {
        {.name = "time_with_exchange", .value = seconds, .unit = "s", .text = ""},
        {.name = "time_without_exchange", .value = seconds - exposed, .unit = "s", .text = ""},
        {.name = "message_bytes", .value = 16384, .unit = "bytes", .text = ""},
        {.name = "message_time", .value = message, .unit = "s", .text = ""}};
  }
  return value;
}

TEST(TensorConclusions, CompareWithOneRankAndLibrariesWithEachOther) {
  const std::vector<CellValue> values = {value_of("llama3-8b", "1", "none", 4e-3),
                                         value_of("llama3-8b", "2", "nccl", 2.5e-3, 5e-4, 24e-6),
                                         value_of("llama3-8b", "2", "peer", 2e-3, 2e-4, 6e-6),
                                         value_of("toy", "2", "nccl", 1e-3, 1e-4, 9e-6)};
  const std::vector<Conclusion> found = tensor_conclusions(values);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_DOUBLE_EQ(found[0].value, 1.6);
  EXPECT_THAT(found[0].text, HasSubstr("library=nccl"));
  EXPECT_THAT(found[0].text, HasSubstr("1.60 times as fast as one rank; ranks wait for each other "
                                       "20.0% of a pass"));
  EXPECT_DOUBLE_EQ(found[1].value, 2);
  EXPECT_DOUBLE_EQ(found[2].value, 6e-6);
  EXPECT_THAT(found[2].text, HasSubstr("all_reduce of 16 KiB on 2 ranks, graph: nccl 24.00 us, "
                                       "peer 6.000 us"));
}

TEST(TensorConclusions, NeverSayThatRanksWaitLessThanNotAtAll) {
  const std::vector<Conclusion> found = tensor_conclusions(std::vector<CellValue>{
      value_of("toy", "1", "none", 2e-3), value_of("toy", "2", "tcp", 1e-3, -1e-5, 9e-6)});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].text, HasSubstr("2.00 times as fast as one rank; that ranks wait for each "
                                       "other does not show"));
}

TEST(TensorConclusions, AreNoneOfOneCell) {
  EXPECT_TRUE(
      tensor_conclusions(std::vector<CellValue>{value_of("toy", "1", "none", 1e-3)}).empty());
  EXPECT_TRUE(
      tensor_conclusions(std::vector<CellValue>{value_of("toy", "2", "tcp", 1e-3, 1e-4, 1e-5)})
          .empty());
}

}  // namespace
}  // namespace assay
