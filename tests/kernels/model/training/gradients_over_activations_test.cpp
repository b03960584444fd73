// Steps of one pass, whose gradients lie where activations lay: the same bits in less memory.
#include <gtest/gtest.h>

#include <vector>

#include "support/transformer_training_test.h"

namespace assay {
namespace {

class GradientsOverActivations : public TransformerTrainingTest {};

/// Losses and weights of some steps, between which held-back batches overwrite the gradients.
struct Trained {
  std::vector<float> losses, weights;
  std::int64_t beyond_plan = 0;  ///< bytes
};

Result<Trained> trained(Device& device, Stream& stream, const TransformerSettings& settings) {
  const TokenBatches data = random_batches(settings.plan, 2, 5);
  auto training = TRY(TransformerTraining::create(device, stream, settings, data, data));
  TRY(training->restart(stream, random_weights(settings.plan.shape, 3)));
  constexpr int steps = 2;  // the second one shows what the first one's update did
  for (int step = 0; step < steps; ++step) {
    TRY(training->step(stream));
    TRY(training->held_back_loss(stream));
  }
  const auto beyond =
      static_cast<std::int64_t>(training->allocated_bytes() - memory_of(settings.plan).total());
  return Trained{TRY(training->losses(stream, 0, steps)), TRY(training->weights(stream)), beyond};
}

/// Gaps between gradients, which activations lay in, count as 0 in the norm of all.
TEST_P(GradientsOverActivations, AreTheSameBits) {
  struct Case {
    const char* model;
    std::int64_t sequence;
    DataType type;
    bool fp8;
  };
  // Blocks that keep more than the gradients of a block need, and less.
  for (const Case& one : {Case{"4L2H1K32D40C72F101V", 48, DataType::f32, false},
                          {"4L2H1K64D128C256F128V", 16, DataType::bf16, false},
                          {"3L2H1K32D48C80F101V", 48, DataType::bf16, true},
                          {"3L2H1K64D128C256F128V", 16, DataType::bf16, true}}) {
    if (device_->facts().emulated && !one.fp8) continue;  // to save time
    TransformerSettings settings = small_training(one.type);
    TransformerPlan& plan = settings.plan;
    plan.shape = parse_decoder_shape(one.model).value();
    plan.shape.head_norms = true;
    plan.sequence = one.sequence;
    plan.batch = 2;
    plan.fp8 = one.fp8;
    plan.head_rows = 24;
    settings.rates = {0.01f};
    const auto apart = trained(*device_, *stream_, settings);
    ASSERT_TRUE(apart) << apart.error().message;
    for (const Recompute recompute : {Recompute::none, Recompute::activation, Recompute::selective,
                                      Recompute::perceptron, Recompute::layer}) {
      if (device_->facts().emulated && recompute < Recompute::perceptron) continue;
      plan.recompute = recompute;
      plan.one_pass = false;
      const std::uint64_t before = memory_of(plan).total();
      plan.one_pass = true;
      EXPECT_LT(memory_of(plan).total(), before);
      const auto found = trained(*device_, *stream_, settings);
      ASSERT_TRUE(found) << found.error().message;
      EXPECT_EQ(found->losses, apart->losses) << one.model;
      EXPECT_EQ(found->weights, apart->weights) << one.model;
      EXPECT_EQ(found->beyond_plan, apart->beyond_plan) << one.model;
    }
  }
}

/// Later passes add to gradients, which have to stay.
TEST_P(GradientsOverActivations, AreRefusedForSeveralPasses) {
  TransformerSettings settings = small_training();
  settings.plan.one_pass = true;
  settings.accumulate = 2;
  const auto made = TransformerTraining::create(*device_, *stream_, settings,
                                                random_batches(settings.plan, 2, 5));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "a plan for steps of one pass does not fit accumulate=2");
}

ASSAY_KERNEL_BUILDS(GradientsOverActivations);

}  // namespace
}  // namespace assay
