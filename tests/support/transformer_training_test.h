// A fixture that trains transformers in every build of the kernels, and shapes of every kind.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "model/training/transformer_training.h"
#include "model/transformer/named_shapes.h"
#include "support/kernel_test.h"
#include "support/training_example.h"

namespace assay {

class TransformerTrainingTest : public KernelTest {
 protected:
  std::unique_ptr<TransformerTraining> start(const TransformerSettings& settings,
                                             const TokenBatches& data,
                                             const std::vector<float>& weights) {
    auto made = TransformerTraining::create(*device_, *stream_, settings, data);
    EXPECT_TRUE(made) << made.error().message;
    if (!made) return nullptr;
    const Status begun = (*made)->restart(*stream_, weights);
    EXPECT_TRUE(begun) << begun.error().message;
    return std::move(*made);
  }

  /// Losses of the first `steps` steps.
  std::vector<float> train(TransformerTraining& training, std::uint64_t steps) {
    for (std::uint64_t i = 0; i < steps; ++i) {
      const Status queued = training.step(*stream_);
      EXPECT_TRUE(queued) << queued.error().message;
    }
    return training.losses(*stream_, 0, steps).value();
  }

  /// The gradients of one pass over `data`, each tensor within `tolerance` of the reference.
  void expect_gradients(const TransformerSettings& settings, double loss_tolerance,
                        double tolerance) {
    expect_gradients(settings, random_batches(settings.plan, 1, 5), loss_tolerance, tolerance);
  }
  void expect_gradients(const TransformerSettings& settings, const TokenBatches& data,
                        double loss_tolerance, double tolerance) {
    std::vector<float> weights = random_weights(settings.plan.shape, 3);
    auto training = start(settings, data, weights);
    ASSERT_NE(training, nullptr);
    weights = training->weights(*stream_).value();  // as they were rounded
    const Status queued = training->pass(*stream_, 0);
    ASSERT_TRUE(queued) << queued.error().message;
    TransformerOracle oracle = oracle_of(settings.plan, weights);
    const double loss =
        oracle.forward(data.tokens, data.targets, settings.plan.sequence, data.document_starts);
    oracle.backward();
    EXPECT_NEAR(training->losses(*stream_, 0, 1).value()[0], loss, loss_tolerance);
    const std::vector<float> gradients = training->gradients(*stream_).value();
    for (const NamedTensor& named : oracle.layout().named()) {
      EXPECT_LT(relative_distance(gradients, oracle.gradients(), named.tensor.offset,
                                  static_cast<std::size_t>(named.tensor.elements())),
                tolerance)
          << named.name;
    }
  }
};

/// Shapes of every kind beside GPTs', each with another combination of its parts.
inline std::vector<TransformerShape> other_shapes() {
  TransformerShape llama = parse_decoder_shape("2L4H2K16D72C40F101V").value();
  llama.rope_theta = 100;
  llama.rope_scaling = RopeScaling{.original_positions = 16};
  TransformerShape qwen3 = parse_decoder_shape("2L2H1K32D40C72F101V").value();
  qwen3.head_norms = qwen3.tied = true;
  TransformerShape qwen2 = parse_decoder_shape("1L3H3K16D48C40F101V").value();
  qwen2.biases = Biases::qkv;
  TransformerShape mixed = parse_gpt_shape("1L4H64C72F101V").value();
  mixed.positions = 17;
  mixed.kv_heads = 2;
  mixed.head_norms = true;
  mixed.activation = ActivationKind::swiglu;
  mixed.tied = false;
  return {llama, qwen3, qwen2, mixed};
}

}  // namespace assay
