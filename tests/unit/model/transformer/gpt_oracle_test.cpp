// The double-precision reference of a GPT against finite differences, and its counts against the
// published ones.
#include "model/transformer/gpt_oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/training/gradient_self_check.h"
#include "support/gpt_example.h"

namespace assay {
namespace {

using testing::HasSubstr;

TEST(GptOracle, GradientsAreThoseOfFiniteDifferences) {
  GptPlan plan;
  plan.shape = parse_gpt_shape("2L2H16C24F13V").value();
  plan.shape.positions = plan.sequence = 5;
  plan.batch = 2;
  const TokenBatches data = random_batches(plan, 1, 5);
  GptOracle oracle = oracle_of(plan, random_weights(plan.shape, 3));
  oracle.forward(data.tokens, data.targets);
  oracle.backward();
  const std::vector<double> gradients = oracle.gradients();
  Random random(7);
  for (const NamedTensor& named : oracle.layout().named()) {
    double worst = 0;
    for (int i = 0; i < 200; ++i) {
      const std::size_t at =
          named.tensor.offset + random.next() % static_cast<std::size_t>(named.tensor.elements());
      double& weight = oracle.parameters()[at];
      const double before = weight, h = 1e-5 * std::max(1.0, std::abs(before));
      weight = before + h;
      const double above = oracle.forward(data.tokens, data.targets);
      weight = before - h;
      const double below = oracle.forward(data.tokens, data.targets);
      weight = before;
      const double slope = (above - below) / (2 * h);
      // The difference of two losses near 5 is exact to 1e-15 / 2e-5.
      worst = std::max(worst, (std::abs(slope - gradients[at]) - 1e-10) /
                                  std::max(std::abs(gradients[at]), 1e-4));
    }
    EXPECT_LT(worst, 1e-6) << named.name;
  }
}

TEST(GptOracle, UntrainedItGivesEveryTokenTheSameChance) {
  GptPlan plan = small_training().plan;
  const TokenBatches data = random_batches(plan, 1, 5);
  std::vector<float> weights(GptParameters::of(plan.shape).elements, 0.0f);
  GptOracle oracle = oracle_of(plan, weights);
  EXPECT_NEAR(oracle.forward(data.tokens, data.targets), std::log(101), 1e-12);
}

/// Parameters of the seed's sizes at 512 positions without biases: they fit its TFLOPS
/// (6 N tokens/s), and with biases PyTorch's own counts.
TEST(GptShape, CountsAreThoseOfTheField) {
  const std::vector<std::pair<const char*, double>> counts = {
      {"30M", 30122112}, {"124M", 123963648}, {"7B", 5241647104}};
  for (const auto& [name, expected] : counts) {
    GptShape shape = parse_gpt_shape(name).value();
    shape.positions = 512;
    shape.bias = false;
    EXPECT_EQ(shape.parameters(), expected) << name;
  }
  GptShape shape = parse_gpt_shape("354M").value();
  shape.positions = 512;
  EXPECT_NEAR(shape.parameters(), 354.3e6, 0.05e6);
  EXPECT_NEAR(shape.attention_flops_per_token(1024), 6.0 * 24 * 1024 * 1024, 1);
}

TEST(GptShape, NumbersWithLettersAreShapes) {
  const auto shape = parse_gpt_shape("6l6H384C");
  ASSERT_TRUE(shape);
  EXPECT_EQ(*shape, parse_gpt_shape("30M").value());
  const auto other = parse_gpt_shape("V256"), missing = parse_gpt_shape("6L6H");
  ASSERT_FALSE(other);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("lacks layers (L), heads (H) or width (C)"));
  for (const char* text : {"", "L6", "6L6L", "6L6H384Cx", "6L5H384C", "6L6H36C", "0L6H384C",
                           "99999999999999999999L", "6L6H384C5F", "6L6H384C1V", "124m"}) {
    const auto refused = parse_gpt_shape(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().kind, ErrorKind::usage) << text;
  }
}

/// Every tensor lies behind the one before it, none overlap, and what the parts need is what all
/// need.
TEST(GptLayout, TensorsLieOneAfterTheOther) {
  GptShape shape = small_gpt();
  for (const bool bias : {true, false}) {
    shape.bias = bias;
    const GptParameters layout = GptParameters::of(shape);
    std::size_t end = 0;
    double elements = 0;
    for (const NamedTensor& named : layout.named()) {
      EXPECT_GE(named.tensor.offset, end) << named.name;
      EXPECT_EQ(named.tensor.offset % 128, 0u) << named.name;
      end = named.tensor.offset + static_cast<std::size_t>(named.tensor.elements());
      elements += static_cast<double>(named.tensor.elements());
    }
    EXPECT_GE(layout.elements, end);
    const double padding =
        static_cast<double>((shape.padded_vocabulary() - shape.vocabulary) * shape.width);
    EXPECT_EQ(elements - padding, shape.parameters());
  }
}

TEST(GptLayout, LessIsKeptWhenMoreIsComputedAgain) {
  GptPlan plan = small_training().plan;
  plan.shape.layers = 8;
  const auto activations = [&](Recompute recompute) {
    plan.recompute = recompute;
    return memory_of(plan).activations;
  };
  EXPECT_LT(activations(Recompute::gelu), activations(Recompute::none));
  EXPECT_LT(activations(Recompute::layer), activations(Recompute::gelu));
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
