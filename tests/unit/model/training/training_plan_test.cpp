// The memory of a training run, and when its gate passes.
#include "model/training/training_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "model/training/gradient_self_check.h"
#include "model/transformer/named_shapes.h"
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
  EXPECT_LT(activations(Recompute::selective), activations(Recompute::activation));
  EXPECT_LT(activations(Recompute::layer), activations(Recompute::selective));
  plan.recompute = Recompute::none;
  const std::int64_t batch = largest_batch(plan, std::uint64_t{1} << 30);
  plan.batch = batch;
  EXPECT_LE(memory_of(plan).total(), std::uint64_t{1} << 30);
  plan.batch = batch + 1;
  EXPECT_GT(memory_of(plan).total(), std::uint64_t{1} << 30);
  plan.recompute = Recompute::selective;
  EXPECT_EQ(what_would_fit(plan, std::uint64_t{1} << 30).find("recompute=selective"),
            std::string::npos);
}

/// What costs the least time is named first.
TEST(TrainingPlan, SelectiveRecomputingIsNamedWhereItFits) {
  TransformerPlan plan;
  plan.shape = parse_decoder_shape("qwen3-0.6b").value();
  plan.batch = 1;
  plan.sequence = 8192;
  plan.recompute = Recompute::selective;
  const std::uint64_t enough = memory_of(plan).total();
  plan.recompute = Recompute::none;
  EXPECT_TRUE(what_would_fit(plan, enough).starts_with("recompute=selective, or recompute=layer"))
      << what_would_fit(plan, enough);
}

/// Logits of more than 2 GiB are computed in equal parts of at most 512 MiB, in whole tiles.
TEST(TrainingPlan, LargeLogitsAreCutIntoParts) {
  TransformerPlan plan;
  plan.shape = parse_decoder_shape("qwen3-8b").value();
  plan.batch = 1;
  plan.sequence = 4096;
  EXPECT_FALSE(plan.cuts_logits());
  EXPECT_EQ(plan.rows_of_logits(), 4096);
  plan.sequence = 8192;
  EXPECT_TRUE(plan.cuts_logits());
  EXPECT_EQ(plan.rows_of_logits(), 1664);  // 8192 / 5, rounded up to a multiple of 128
  EXPECT_EQ(memory_of(plan).logits, std::uint64_t{1664} * 151936 * 2);
  plan.head_rows = 10000;
  EXPECT_EQ(plan.rows_of_logits(), 8192);
}

/// Frozen weights take two bytes each, and nothing else; what is trained takes as much as ever.
TEST(TrainingPlan, FrozenWeightsHaveNoGradients) {
  TransformerPlan plan;
  plan.shape = parse_decoder_shape("qwen3-0.6b").value();
  plan.batch = 1;
  plan.sequence = 512;
  plan.lora = {.rank = 16, .targets = parse_lora_targets("all").value()};
  const TrainingMemory memory = memory_of(plan);
  const double trained = plan.trained_parameters();
  EXPECT_NEAR(static_cast<double>(memory.parameters), 2 * (plan.shape.parameters() + trained), 1e5);
  EXPECT_NEAR(static_cast<double>(memory.gradients), 2 * trained, 1e4);
  EXPECT_NEAR(static_cast<double>(memory.optimizer), 12 * trained, 1e4);
  EXPECT_EQ(plan.sections().size(), 1u);
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
