// Training on a real accelerator: gradients against the reference in every way of computing, and
// what must not change a bit.
#include <gtest/gtest.h>

#include "gpt_example.h"
#include "model/gpt_gate.h"
#include "test_device.h"

namespace assay {
namespace {

class TrainingOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    device_ = open_test_device("");
    if (device_->facts().backend == "cpu") GTEST_SKIP() << "no accelerator on this machine";
    stream_ = std::move(device_->create_stream()).value();
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(TrainingOnGpu, GradientsAreTheReferencesInEveryWay) {
  for (const DataType precision : {DataType::f32, DataType::tf32, DataType::bf16}) {
    for (const std::int64_t head_width : {32, 64, 128}) {
      for (const AttentionWay way : {AttentionWay::plain, AttentionWay::own}) {
        TrainingSettings settings = small_training(precision);
        settings.plan.shape.width = settings.plan.shape.heads * head_width;
        settings.plan.attention = way;
        if (way == AttentionWay::own &&
            own_attention_unsupported(device_->facts(), precision, head_width)) {
          continue;
        }
        const auto gate = check_training(*device_, *stream_, settings);
        ASSERT_TRUE(gate) << gate.error().message;
        EXPECT_TRUE(gate->passed) << name_of(precision) << " " << name_of(way) << " " << head_width
                                  << ": " << gate->worst << " " << gate->gradient_error << ", loss "
                                  << gate->loss_error;
      }
    }
  }
}

TEST_F(TrainingOnGpu, ReplayingRecomputingAndRepeatingChangeNoBit) {
  TrainingSettings settings = small_training(DataType::bf16);
  settings.plan.shape.width = 128;
  settings.plan.attention = AttentionWay::own;
  settings.plan.sequence = settings.plan.shape.positions = 150;
  const TokenBatches data = random_batches(settings.plan, 4, 5);
  const auto train = [&](const TrainingSettings& wanted, bool graph) {
    auto made = GptTraining::create(*device_, *stream_, wanted, data);
    EXPECT_TRUE(made) << made.error().message;
    GptTraining& training = **made;
    EXPECT_TRUE(training.step(*stream_));
    std::unique_ptr<Graph> replayed;
    if (graph) {
      EXPECT_TRUE(stream_->begin_capture());
      EXPECT_TRUE(training.step(*stream_));
      replayed = std::move(stream_->end_capture()).value();
    }
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(graph ? stream_->launch(*replayed) : training.step(*stream_));
    }
    return training.weights(*stream_).value();
  };
  const std::vector<float> once = train(settings, false);
  EXPECT_EQ(train(settings, false), once);
  EXPECT_EQ(train(settings, true), once);
  for (const Recompute recompute : {Recompute::gelu, Recompute::layer}) {
    settings.plan.recompute = recompute;
    EXPECT_EQ(train(settings, true), once);
  }
}

}  // namespace
}  // namespace assay
