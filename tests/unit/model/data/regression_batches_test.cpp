#include "model/data/regression_batches.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(RegressionBatches, EachTargetIsOneInputOrItsOppositeInAllRows) {
  constexpr std::size_t rows = 12, inputs = 16, outputs = 24, known = 8;
  const RegressionBatches data = synthetic_regression(3, 4, inputs, outputs, 9);
  ASSERT_EQ(data.targets.size(), rows * outputs);
  const auto is_input = [&](std::size_t output, std::size_t input, float sign) {
    for (std::size_t row = 0; row < rows; ++row) {
      if (data.targets[row * outputs + output] != sign * data.x[row * inputs + input]) return false;
    }
    return true;
  };
  std::size_t opposites = 0;
  for (std::size_t output = 0; output < outputs; ++output) {
    std::size_t same = 0, opposite = 0;
    for (std::size_t input = 0; input < known; ++input) {
      same += is_input(output, input, 1) ? 1 : 0;
      opposite += is_input(output, input, -1) ? 1 : 0;
    }
    EXPECT_EQ(same + opposite, 1u) << "output " << output;
    opposites += opposite;
  }
  EXPECT_GT(opposites, 0u);
  EXPECT_LT(opposites, outputs);
}

TEST(RegressionBatches, TheLastBatchesAreSplitOff) {
  RegressionBatches data = synthetic_regression(3, 4, 16, 24, 9);
  const std::vector<float> all = data.x;
  const RegressionBatches last = data.split_off(1);
  EXPECT_EQ(data.batches, 2);
  EXPECT_EQ(last.batches, 1);
  EXPECT_EQ(data.x.size(), 2u * 4 * 16);
  EXPECT_EQ(last.x, std::vector<float>(all.begin() + 2 * 4 * 16, all.end()));
  EXPECT_EQ(last.targets.size(), 4u * 24);
}

}  // namespace
}  // namespace assay
