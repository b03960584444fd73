// The memory of a training run, and when its gate passes.
#include "model/training/training_plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/training/gradient_self_check.h"
#include "support/training_example.h"

namespace assay {
namespace {

TEST(TrainingPlan, LessIsKeptWhenMoreIsComputedAgain) {
  TransformerPlan plan = small_training().plan;
  plan.shape.layers = 8;
  const auto activations = [&](Recompute recompute) {
    plan.recompute = recompute;
    return memory_of(plan).activations;
  };
  EXPECT_LT(activations(Recompute::activation), activations(Recompute::none));
  EXPECT_LT(activations(Recompute::layer), activations(Recompute::activation));
  plan.recompute = Recompute::none;
  const std::int64_t batch = largest_batch(plan, std::uint64_t{1} << 30);
  plan.batch = batch;
  EXPECT_LE(memory_of(plan).total(), std::uint64_t{1} << 30);
  plan.batch = batch + 1;
  EXPECT_GT(memory_of(plan).total(), std::uint64_t{1} << 30);
}

TEST(GradientGate, WhatIsNotANumberStaysTheWorst) {
  const double nan = std::nan("");
  EXPECT_TRUE(is_worse(2, 1));
  EXPECT_FALSE(is_worse(1, 1));
  EXPECT_TRUE(is_worse(nan, 1));
  EXPECT_FALSE(is_worse(1e-3, nan));
  EXPECT_FALSE(is_worse(nan, nan));
}

}  // namespace
}  // namespace assay
