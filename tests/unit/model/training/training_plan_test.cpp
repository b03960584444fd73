// The memory of a training run, and when its gate passes.
#include "model/training/training_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "model/training/fp8_layout.h"
#include "model/training/gradient_self_check.h"
#include "model/training/training_costs.h"
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
  EXPECT_LT(activations(Recompute::perceptron), activations(Recompute::selective));
  EXPECT_LT(activations(Recompute::layer), activations(Recompute::perceptron));
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
  EXPECT_TRUE(what_would_fit(plan, enough)
                  .starts_with("recompute=selective, or recompute=perceptron, or recompute=layer"))
      << what_would_fit(plan, enough);
}

/// Logits of more than 2 GiB are computed in equal parts of at most 640 MiB, in whole tiles.
TEST(TrainingPlan, LargeLogitsAreCutIntoParts) {
  TransformerPlan plan;
  plan.shape = parse_decoder_shape("qwen3-8b").value();
  plan.batch = 1;
  plan.sequence = 4096;
  EXPECT_FALSE(plan.cuts_logits());
  EXPECT_EQ(plan.rows_of_logits(), 4096);
  plan.sequence = 8192;
  EXPECT_TRUE(plan.cuts_logits());
  EXPECT_EQ(plan.rows_of_logits(), 2048);
  // Part of them lies in memory that blocks share.
  EXPECT_GT(memory_of(plan).logits, 0u);
  EXPECT_LT(memory_of(plan).logits, std::uint64_t{2048} * 151936 * 2);
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

/// What another block of a model adds to the activations.
std::int64_t activations_of_block(TransformerPlan plan) {
  const std::uint64_t without = memory_of(plan).activations;
  ++plan.shape.layers;
  return static_cast<std::int64_t>(memory_of(plan).activations - without);
}

/// Copies in FP8: two bytes of a weight of blocks; one of each input of their products, instead of
/// the bf16 that only they need; nothing of what is computed again.
TEST(TrainingPlan, CopiesInFp8AreCounted) {
  TransformerPlan plan;
  plan.shape = parse_decoder_shape("qwen3-0.6b").value();
  plan.batch = 1;
  plan.sequence = 512;
  const TrainingMemory before = memory_of(plan);
  const std::int64_t block_before = activations_of_block(plan);
  plan.fp8 = true;
  const auto weights = static_cast<std::uint64_t>(plan.shape.layer_products());
  EXPECT_EQ(memory_of(plan).parameters - before.parameters, 2 * weights);
  const std::int64_t inputs = 1024 + 2048 + 1024 + 3072, only_multiplied = 1024 + 1024 + 3072,
                     scales = 4 * 3 * 16;
  EXPECT_EQ(activations_of_block(plan) - block_before,
            512 * (inputs - 2 * only_multiplied) + scales);
  plan.recompute = Recompute::selective;  // keeps the columns of norms' results
  EXPECT_EQ(memory_of(plan).parameters, before.parameters);
  const std::int64_t selective = activations_of_block(plan);
  plan.fp8 = false;
  EXPECT_EQ(selective - activations_of_block(plan), 512 * 2 * 1024 + scales);
  plan.recompute = Recompute::layer;
  const std::int64_t of_layer = activations_of_block(plan);
  EXPECT_LT(of_layer, 512 * (2 * 1024 + 64));
  plan.fp8 = true;
  EXPECT_EQ(activations_of_block(plan) - of_layer, scales);
  plan.recompute = Recompute::none;
  plan.lora = {.rank = 16, .targets = parse_lora_targets("all").value()};
  const std::int64_t adapted = activations_of_block(plan);
  plan.fp8 = false;
  EXPECT_EQ(adapted - activations_of_block(plan), scales);
}

/// With sharded parameters a rank has the copies of one matrix at a time, beside the activations.
TEST(TrainingPlan, CopiesOfShardedWeightsTakeTurns) {
  TransformerPlan plan;
  plan.shape = parse_decoder_shape("qwen3-0.6b").value();
  plan.batch = 1;
  plan.sequence = 512;
  plan.parallel.ranks = 2;
  plan.parallel.sharding = Sharding::parameters;
  const TrainingMemory before = memory_of(plan);
  plan.fp8 = true;
  EXPECT_EQ(memory_of(plan).parameters, before.parameters);
  EXPECT_LT(memory_of(plan).activations, before.activations);
}

/// Bytes of Qwen3-8B in rows of 8,192 tokens, beside those that PyTorch needs on an H200
/// (docs/results/2026-11-29-h200-finetune).
TEST(TrainingPlan, AnEightBillionModelNeedsNoMoreMemoryThanPyTorch) {
  struct Row {
    Recompute recompute;
    bool fp8, lora;
    double most;  ///< GB
  };
  // An H200's library of products and batches also take memory, which plans do not count.
  constexpr double beside_plan = 0.19;
  for (const Row& row : {Row{Recompute::selective, false, false, 94.8},
                         {Recompute::perceptron, false, false, 66},
                         {Recompute::layer, false, false, 66},
                         {Recompute::selective, true, false, 80.3},
                         {Recompute::perceptron, true, false, 66},
                         {Recompute::none, false, true, 61.0},
                         {Recompute::layer, false, true, 21.3}}) {
    TransformerPlan plan;
    plan.shape = parse_decoder_shape("qwen3-8b").value();
    plan.batch = 1;
    plan.sequence = 8192;
    plan.attention = AttentionWay::library_unordered;
    plan.states = row.lora ? OptimizerStates::master : OptimizerStates::stochastic;
    plan.one_pass = true;
    plan.recompute = row.recompute;
    plan.fp8 = row.fp8;
    if (row.lora) plan.lora = {.rank = 16, .targets = parse_lora_targets("all").value()};
    const TrainingMemory memory = memory_of(plan);
    EXPECT_LE(static_cast<double>(memory.total()) / 1e9 + beside_plan, row.most)
        << "activations " << memory.activations << ", logits " << memory.logits << ", scratch "
        << memory.scratch;
  }
}

TEST(TrainingPlan, SizesThatFp8DoesNotTakeAreNamed) {
  TransformerPlan plan;
  plan.shape = parse_decoder_shape("2L2H1K32D64C80F101V").value();
  plan.batch = 3;
  plan.sequence = 17;
  plan.fp8 = true;
  EXPECT_EQ(validate_fp8(plan).error().message,
            "products=fp8 takes multiples of 16, and batch x sequence is 51; choose another, or "
            "products=bf16");
  plan.sequence = 16;
  EXPECT_TRUE(validate_fp8(plan));
  plan.shape.hidden = 72;
  EXPECT_EQ(validate_fp8(plan).error().kind, ErrorKind::usage);
  plan.shape.hidden = 80;
  plan.type = DataType::f32;
  EXPECT_EQ(validate_fp8(plan).error().message,
            "products=fp8 has results of bf16, not f32; allowed: precision=bf16");
}

/// Products of FP8 read one byte for each operand; the head stays as it was.
TEST(TrainingPlan, CostsSayWhatIsFp8) {
  TransformerPlan plan;
  plan.shape = parse_decoder_shape("qwen3-8b").value();
  plan.batch = 1;
  plan.sequence = 4096;
  const std::vector<OperationCost> bf16 = costs_of(plan, 1);
  plan.fp8 = true;
  double fp8_flops = 0, quantized = 0;
  for (const OperationCost& cost : costs_of(plan, 1)) {
    fp8_flops += cost.fp8 ? cost.flops : 0;
    quantized += cost.name.starts_with("quantize") ? cost.bytes : 0;
    const auto before = std::find_if(bf16.begin(), bf16.end(), [&](const OperationCost& one) {
      return one.phase == cost.phase && one.name == cost.name;
    });
    if (before == bf16.end()) continue;
    EXPECT_EQ(cost.flops, before->flops);
    if (!cost.fp8) EXPECT_EQ(cost.bytes, before->bytes) << cost.name;
    if (cost.fp8) EXPECT_LT(cost.bytes, 0.9 * before->bytes) << cost.name;
    if (cost.fp8) EXPECT_GT(cost.bytes, 0.5 * before->bytes) << cost.name;
  }
  EXPECT_DOUBLE_EQ(fp8_flops, 6 * 4096 * plan.shape.layer_products());
  const double numbers_of_token = 36 * (4096 + 4096 + 4096 + 12288 +  // inputs, then outputs
                                        6144 + 4096 + 24576 + 4096);
  EXPECT_DOUBLE_EQ(quantized, 4 * (4096 * numbers_of_token + plan.shape.layer_products()));
}

/// Adapters of all columns write the result, to which the product adds; others add to a result.
TEST(TrainingPlan, CostsSayWhoReadsAResultAgain) {
  TransformerPlan plan;
  plan.shape = parse_decoder_shape("qwen3-8b").value();
  plan.batch = 1;
  plan.sequence = 4096;
  const auto bytes = [&](const char* targets, Phase phase, std::string_view name) {
    plan.lora = {.rank = 16, .targets = parse_lora_targets(targets).value()};
    const std::vector<OperationCost> costs = costs_of(plan, 1);
    return std::ranges::find_if(
               costs,
               [&](const OperationCost& cost) { return cost.phase == phase && cost.name == name; })
        ->bytes;
  };
  const double numbers = 36.0 * 4096 * 2;  // bytes of one for each token and block
  EXPECT_DOUBLE_EQ(bytes("all", Phase::forward, "adapters"),
                   numbers * (3 * 4096 + 12288 + 6144 + 4096 + 24576 + 4096));
  EXPECT_DOUBLE_EQ(bytes("q+v", Phase::forward, "adapters"), numbers * (4096 + 2 * (4096 + 1024)));
  EXPECT_DOUBLE_EQ(bytes("all", Phase::forward, "qkv") - bytes("q+v", Phase::forward, "qkv"),
                   numbers * 6144);
  EXPECT_DOUBLE_EQ(
      bytes("all", Phase::backward, "down_input") - bytes("q+v", Phase::backward, "down_input"),
      numbers * 12288);
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
