// Training on a real accelerator: gradients against the reference in every way of computing, and
// what must not change a bit.
#include <gtest/gtest.h>

#include <iostream>
#include <set>

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
  std::set<std::string> missing;
  for (const DataType precision : {DataType::f32, DataType::tf32, DataType::bf16, DataType::f16}) {
    for (const std::int64_t head_width : {32, 64, 128}) {
      for (const AttentionWay way : {AttentionWay::plain, AttentionWay::own, AttentionWay::library,
                                     AttentionWay::library_unordered}) {
        GptSettings settings = small_training(precision);
        settings.plan.shape.width = settings.plan.shape.heads * head_width;
        settings.plan.attention = way;
        if (way == AttentionWay::own &&
            own_attention_unsupported(device_->facts(), precision, head_width)) {
          continue;
        }
        if (is_by_library(way)) {
          FusedAttentionProblem problem = fused_attention_of(settings.plan);
          problem.sequence = 256;  // or what the gate takes, if the library takes more
          if (const auto reason = fused_attention_unsupported(problem, device_->facts())) {
            missing.insert(*reason);
            continue;
          }
        }
        const auto gate = check_training(*device_, *stream_, settings);
        ASSERT_TRUE(gate) << gate.error().message;
        EXPECT_TRUE(gate->passed) << name_of(precision) << " " << name_of(way) << " " << head_width
                                  << ": " << gate->worst << " " << gate->gradient_error << ", loss "
                                  << gate->loss_error;
      }
    }
  }
  for (const std::string& reason : missing) std::cout << "left out: " << reason << "\n";
}

/// Where attention is always the same.
class SameBitsOnGpu : public TrainingOnGpu, public testing::WithParamInterface<AttentionWay> {};
INSTANTIATE_TEST_SUITE_P(, SameBitsOnGpu, testing::Values(AttentionWay::own, AttentionWay::library),
                         [](const auto& way) { return std::string(name_of(way.param)); });

TEST_P(SameBitsOnGpu, ReplayingRecomputingAndRepeatingChangeNoBit) {
  GptSettings settings = small_training(DataType::bf16);
  settings.plan.shape.width = 128;
  settings.plan.attention = GetParam();
  // The last tile is not full, if the library takes that.
  settings.plan.sequence = settings.plan.shape.positions = 150;
  if (is_by_library(GetParam())) {
    if (fused_attention_unsupported(fused_attention_of(settings.plan), device_->facts())) {
      settings.plan.sequence = settings.plan.shape.positions = 256;
    }
    const auto fused = open_fused_attention(*device_, fused_attention_of(settings.plan));
    if (!fused) GTEST_SKIP() << fused.error().message;
    if (!(*fused)->deterministic()) GTEST_SKIP() << "not deterministic on this device";
  }
  const TokenBatches data = random_batches(settings.plan, 4, 5);
  const auto train = [&](const GptSettings& wanted, bool graph) {
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
  settings.plan.recompute = Recompute::layer;
  EXPECT_EQ(train(settings, true), once);
  // The GELU by itself has the bits of the kernel, not those of a product's epilogue.
  settings.fuse_gelu = false;
  settings.plan.recompute = Recompute::none;
  const std::vector<float> separate = train(settings, true);
  settings.plan.recompute = Recompute::gelu;
  EXPECT_EQ(train(settings, true), separate);
}

}  // namespace
}  // namespace assay
