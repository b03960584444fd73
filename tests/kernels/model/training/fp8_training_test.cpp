// Training whose blocks multiply in FP8: near the references, and the same bits whatever is
// computed again.
#include <gtest/gtest.h>

#include <vector>

#include "model/training/training_self_check.h"
#include "support/transformer_training_test.h"

namespace assay {
namespace {

class TrainingInFp8 : public TransformerTrainingTest {};

/// Shapes whose sizes products of FP8 take: a Llama, a Qwen with norms of heads, a GPT with biases.
std::vector<TransformerSettings> fp8_trainings() {
  std::vector<TransformerSettings> all;
  for (const char* model : {"2L4H2K16D64C48F101V", "2L2H1K32D48C80F101V", "2L2H64C144F101V"}) {
    TransformerSettings settings = small_training(DataType::bf16);
    TransformerPlan& plan = settings.plan;
    plan.shape = parse_shape(model).value();
    plan.shape.positions = plan.sequence = 16;
    plan.fp8 = true;
    all.push_back(settings);
  }
  all[1].plan.shape.head_norms = all[1].plan.shape.tied = true;
  return all;
}

/// The gate's reference does not quantize, so it allows more; a product of the wrong operands, or a
/// factor left out, is still far beyond that.
TEST_P(TrainingInFp8, ProductsOfFp8AreNearTheReferences) {
  for (TransformerSettings settings : fp8_trainings()) {
    const auto expect_passed = [&] {
      const auto gate = check_training(*device_, *stream_, settings);
      ASSERT_TRUE(gate) << gate.error().message;
      EXPECT_TRUE(gate->passed) << gate->worst << " " << gate->gradient_error << ", loss "
                                << gate->loss_error;
      // Quantization shows: this was not computed in bf16.
      EXPECT_GT(gate->gradient_error, 0.03);
    };
    expect_passed();
    if (settings.plan.shape.has_all_biases()) continue;
    settings.plan.lora =
        LoraSettings{.rank = 4, .alpha = 6, .targets = parse_lora_targets("all").value()};
    expect_passed();
  }
}

/// What is computed again has the same codes, also in a replayed graph and after an evaluation,
/// which quantizes the weights, too. The plan knows every byte.
TEST_P(TrainingInFp8, RecomputingInFp8ChangesNoBit) {
  for (TransformerSettings settings : fp8_trainings()) {
    if (device_->facts().emulated && !settings.plan.shape.head_norms) continue;  // to save time
    settings.accumulate = 2;
    const TokenBatches data = random_batches(settings.plan, 2, 5);
    const std::vector<float> weights = random_weights(settings.plan.shape, 3);
    std::vector<float> losses, trained;
    std::int64_t beyond_plan = 0;
    for (const Recompute recompute : {Recompute::none, Recompute::activation, Recompute::selective,
                                      Recompute::perceptron, Recompute::layer}) {
      settings.plan.recompute = recompute;
      auto made = TransformerTraining::create(*device_, *stream_, settings, data, data);
      ASSERT_TRUE(made) << made.error().message;
      TransformerTraining& training = **made;
      ASSERT_TRUE(training.restart(*stream_, weights));
      ASSERT_TRUE(training.step(*stream_));
      ASSERT_TRUE(stream_->begin_capture());
      ASSERT_TRUE(training.step(*stream_));
      const auto graph = stream_->end_capture();
      ASSERT_TRUE(graph) << graph.error().message;
      ASSERT_TRUE(stream_->launch(**graph));
      ASSERT_TRUE(training.held_back_loss(*stream_));
      ASSERT_TRUE(stream_->launch(**graph));
      const std::vector<float> found = training.losses(*stream_, 0, 3).value();
      const auto beyond =
          static_cast<std::int64_t>(training.allocated_bytes() - memory_of(settings.plan).total());
      if (losses.empty()) {
        losses = found;
        trained = training.weights(*stream_).value();
        beyond_plan = beyond;
        EXPECT_LT(losses[2], losses[0]);
      }
      EXPECT_EQ(found, losses);
      EXPECT_EQ(training.weights(*stream_).value(), trained);
      EXPECT_EQ(beyond, beyond_plan);
    }
    settings.plan.fp8 = false;
    auto made = TransformerTraining::create(*device_, *stream_, settings, data, data);
    ASSERT_TRUE(made) << made.error().message;
    ASSERT_TRUE((*made)->step(*stream_));  // the first product allocates its workspace
    EXPECT_EQ(
        static_cast<std::int64_t>((*made)->allocated_bytes() - memory_of(settings.plan).total()),
        beyond_plan);
  }
}

ASSAY_KERNEL_BUILDS(TrainingInFp8);

}  // namespace
}  // namespace assay
