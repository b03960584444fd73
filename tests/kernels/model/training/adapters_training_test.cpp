// Adapters that are trained beside frozen weights, in every build of the kernels.
#include <gtest/gtest.h>

#include <vector>

#include "model/training/training_self_check.h"
#include "model/transformer/lora_oracle.h"
#include "support/transformer_training_test.h"

namespace assay {
namespace {

class AdaptersInTraining : public TransformerTrainingTest {};

/// Settings for a tiny Llama or Qwen with adapters on all targets, which share a product or not.
TransformerSettings adapted_training(const TransformerShape& shape, const char* targets,
                                     DataType precision = DataType::f32) {
  TransformerSettings settings = small_training(precision);
  settings.plan.shape = shape;
  settings.plan.lora =
      LoraSettings{.rank = 4, .alpha = 6, .targets = parse_lora_targets(targets).value()};
  return settings;
}

/// The gate compares every adapter's gradients with those of the merged model, of several passes
/// and with activations kept and computed again.
TEST_P(AdaptersInTraining, AdaptersHaveTheGradientsOfTheMergedModel) {
  std::vector<TransformerShape> shapes = other_shapes();
  std::erase_if(shapes, [](const TransformerShape& shape) { return shape.has_all_biases(); });
  std::size_t diagonal = 0;
  for (const char* targets : {"all", "torchtune", "k+down", "q+v"}) {
    std::size_t place = diagonal++;
    for (const Recompute recompute : {Recompute::none, Recompute::activation, Recompute::selective,
                                      Recompute::perceptron, Recompute::layer}) {
      const std::size_t chosen = place++ % shapes.size();
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        if (is_slow() && i != chosen) continue;
        TransformerSettings settings = adapted_training(shapes[i], targets);
        settings.plan.recompute = recompute;
        settings.plan.documents = recompute == Recompute::activation;
        const auto gate = check_training(*device_, *stream_, settings);
        ASSERT_TRUE(gate) << gate.error().message;
        EXPECT_TRUE(gate->passed) << targets << ": " << gate->worst << " " << gate->gradient_error
                                  << ", loss " << gate->loss_error;
      }
    }
  }
}

TEST_P(AdaptersInTraining, AdaptersInBf16AreNearTheMergedModel) {
  const auto gate = check_training(*device_, *stream_,
                                   adapted_training(other_shapes().front(), "all", DataType::bf16));
  ASSERT_TRUE(gate) << gate.error().message;
  EXPECT_TRUE(gate->passed) << gate->worst << " " << gate->gradient_error;
}

/// With adapters only adapters are trained: the first loss is the model's, the next are lower, and
/// no frozen weight changes.
TEST_P(AdaptersInTraining, AdaptersLearnAndFreezeTheModel) {
  const TransformerShape shape = other_shapes()[1];
  TransformerSettings settings = adapted_training(shape, "all");
  settings.rates = {1e-2f};
  const TokenBatches data = random_batches(settings.plan, 1, 5);
  auto made = TransformerTraining::create(*device_, *stream_, settings, data);
  ASSERT_TRUE(made) << made.error().message;
  const std::vector<float> before = (*made)->frozen_weights(*stream_).value();
  const std::vector<float> losses = train(**made, 4);
  TransformerPlan alone = settings.plan;
  TransformerOracle oracle = oracle_of(alone, before);
  EXPECT_NEAR(losses.front(), oracle.forward(data.tokens, data.targets, alone.sequence), 1e-5);
  EXPECT_LT(losses.back(), losses.front());
  EXPECT_EQ((*made)->frozen_weights(*stream_).value(), before);
  EXPECT_EQ((*made)->plan_of_parameters().optimizer_bytes(), 8u);
  EXPECT_EQ((*made)->arenas().elements(), alone.adapters().elements);
}

ASSAY_KERNEL_BUILDS(AdaptersInTraining);

}  // namespace
}  // namespace assay
