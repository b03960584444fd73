#include <gtest/gtest.h>

#include <vector>

#include "measure/benchmarks/train/train_model.h"

namespace assay {
namespace {

TEST(LossAtEnd, IsNotThatOfASingleStep) {
  std::vector<float> losses(21, 8.0f);
  losses.back() = 18;
  EXPECT_EQ(loss_at_end(losses), 8);
  EXPECT_EQ(loss_at_end(std::vector<float>{9, 8, 18, 8}), 8);
}

TEST(LossAtEnd, RisesWithTheLossOfMostStepsThere) {
  std::vector<float> losses(16, 8.0f);
  for (std::size_t i = 13; i < losses.size(); ++i) losses[i] = 18;
  EXPECT_EQ(loss_at_end(losses), 18);
  EXPECT_EQ(loss_at_end(std::vector<float>{3}), 3);
}

}  // namespace
}  // namespace assay
