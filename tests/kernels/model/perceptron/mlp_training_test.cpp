// Training a perceptron in every build of the kernels, against its double-precision reference.
#include "model/perceptron/mlp_training.h"

#include <gtest/gtest.h>

#include "core/random.h"
#include "model/perceptron/mlp_oracle.h"
#include "model/perceptron/mlp_self_check.h"
#include "model/training/checkpoint.h"
#include "support/kernel_test.h"
#include "support/temporary_folder.h"
#include "support/training_example.h"

namespace assay {
namespace {

class TrainingAnMlp : public KernelTest {
 protected:
  static MlpSettings small(DataType precision = DataType::f32) {
    MlpSettings settings;
    settings.plan.shape = parse_mlp_shape("24-72-40-16").value();
    settings.plan.batch = 7;
    settings.plan.type = precision == DataType::tf32 ? DataType::f32 : precision;
    settings.precision = precision;
    settings.measured_products = false;
    return settings;
  }
  static RegressionBatches batches(const MlpPlan& plan, std::int64_t count) {
    return synthetic_regression(count, plan.batch, plan.shape.widths.front(),
                                plan.shape.widths.back(), 5);
  }
  std::unique_ptr<MlpTraining> start(const MlpSettings& settings, const RegressionBatches& data,
                                     const RegressionBatches& held_back = {}) {
    auto made = MlpTraining::create(*device_, *stream_, settings, data, held_back);
    EXPECT_TRUE(made) << made.error().message;
    return made ? std::move(*made) : nullptr;
  }
  std::vector<float> train(Training& training, std::uint64_t steps) {
    for (std::uint64_t i = 0; i < steps; ++i) {
      const Status queued = training.step(*stream_);
      EXPECT_TRUE(queued) << queued.error().message;
    }
    return training.losses(*stream_, 0, steps).value();
  }
};

TEST_P(TrainingAnMlp, GradientsAreTheReferences) {
  for (const DataType precision : {DataType::f32, DataType::bf16, DataType::f16}) {
    for (const bool bias : {true, false}) {
      MlpSettings settings = small(precision);
      settings.plan.shape.bias = bias;
      const auto gate = check_training(*device_, *stream_, settings);
      ASSERT_TRUE(gate) << gate.error().message;
      EXPECT_TRUE(gate->passed) << gate->worst << " " << gate->gradient_error << ", loss "
                                << gate->loss_error;
    }
  }
}

TEST_P(TrainingAnMlp, ReplayingAndResumingChangeNoBit) {
  for (const DataType precision : {DataType::f32, DataType::bf16, DataType::f16}) {
    const MlpSettings settings = small(precision);
    const RegressionBatches data = batches(settings.plan, 3);
    auto whole = start(settings, data);
    ASSERT_NE(whole, nullptr);
    ASSERT_TRUE(whole->step(*stream_));
    const TemporaryFolder folder;
    const Status saved = save_checkpoint(*whole, *stream_, folder.path() / "mlp");
    ASSERT_TRUE(saved) << saved.error().message;
    const double bytes = checkpoint_bytes(settings.plan, settings.plan.shape.parameters());
    EXPECT_NEAR(static_cast<double>(std::filesystem::file_size(folder.path() / "mlp")), bytes,
                0.1 * bytes);  // beside the header
    const std::vector<float> losses = train(*whole, 3);
    auto other = start(settings, data);
    ASSERT_NE(other, nullptr);
    ASSERT_TRUE(other->step(*stream_));
    ASSERT_TRUE(stream_->begin_capture());
    const Status queued = other->step(*stream_);
    auto graph = stream_->end_capture();
    ASSERT_TRUE(queued) << queued.error().message;
    ASSERT_TRUE(graph) << graph.error().message;
    const auto loaded = load_checkpoint(*other, *stream_, folder.path() / "mlp");
    ASSERT_TRUE(loaded) << loaded.error().message;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(stream_->launch(**graph));
    EXPECT_EQ(other->losses(*stream_, 1, 3).value(), whole->losses(*stream_, 1, 3).value());
    EXPECT_EQ(other->weights(*stream_).value(), whole->weights(*stream_).value());
  }
}

TEST_P(TrainingAnMlp, TheFirstStepStopsBetweenItsPassesAndCanBeRepeated) {
  MlpSettings settings = small();
  settings.accumulate = 8;
  const RegressionBatches data = batches(settings.plan, 3);
  auto undisturbed = start(settings, data);
  ASSERT_NE(undisturbed, nullptr);
  int asked = 0;
  settings.stop_requested = [&] { return ++asked == 3; };
  auto training = start(settings, data);
  ASSERT_NE(training, nullptr);
  const std::vector<float> before = training->weights(*stream_).value();
  const Status stopped = training->step(*stream_);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().kind, ErrorKind::interrupted);
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(training->state(*stream_).value().step, 0U);
  EXPECT_EQ(training->weights(*stream_).value(), before);
  EXPECT_EQ(train(*training, 2), train(*undisturbed, 2));
  EXPECT_EQ(training->weights(*stream_).value(), undisturbed->weights(*stream_).value());
  EXPECT_EQ(asked, 10);  // once before each later pass of the first step, and never after it
}

/// With either optimizer and all kinds of states.
TEST_P(TrainingAnMlp, OneBatchIsLearntByHeart) {
  for (const Optimizer optimizer : {Optimizer::adamw, Optimizer::sgd}) {
    for (const auto& [precision, states] : {std::pair(DataType::f32, OptimizerStates::master),
                                            {DataType::bf16, OptimizerStates::master},
                                            {DataType::bf16, OptimizerStates::stochastic},
                                            {DataType::f16, OptimizerStates::master}}) {
      MlpSettings settings = small(precision);
      settings.plan.optimizer = optimizer;
      settings.plan.states = states;
      settings.rates = {optimizer == Optimizer::sgd ? 0.5f : 3e-3f};
      auto training = start(settings, batches(settings.plan, 1));
      ASSERT_NE(training, nullptr);
      const bool emulated = device_->facts().emulated;
      const std::vector<float> losses = train(*training, emulated ? 4 : 150);
      EXPECT_LT(losses.back(), emulated ? losses.front() : 0.05f)
          << name_of(precision) << (optimizer == Optimizer::sgd ? " sgd" : " adamw");
    }
  }
}

TEST_P(TrainingAnMlp, AnUpdateOfSgdIsGradientDescent) {
  MlpSettings settings = small();
  settings.plan.optimizer = Optimizer::sgd;
  settings.rates = {0.1f};
  settings.update.clip = 0.25f;
  auto training = start(settings, batches(settings.plan, 1));
  ASSERT_NE(training, nullptr);
  const std::vector<float> before = training->weights(*stream_).value();
  ASSERT_TRUE(training->step(*stream_));
  const std::vector<float> gradients = training->gradients(*stream_).value();
  const std::vector<float> after = training->weights(*stream_).value();
  double squares = 0;
  for (const float g : gradients) squares += double(g) * g;
  ASSERT_GT(std::sqrt(squares), 0.25) << "nothing is clipped";
  for (std::size_t i = 0; i < after.size(); ++i) {
    const double g = gradients[i] * 0.25 / std::sqrt(squares);
    ASSERT_NEAR(after[i], before[i] * (1 - 0.1 * 0.01) - 0.1 * g, 1e-6) << i;
  }
}

/// The loss of batches that no step sees is the reference's, and looking at it changes nothing.
TEST_P(TrainingAnMlp, HeldBackBatchesAreOnlyLookedAt) {
  const MlpSettings settings = small();
  RegressionBatches data = batches(settings.plan, 4);
  const RegressionBatches held_back = data.split_off(2);
  auto training = start(settings, data, held_back), blind = start(settings, data);
  ASSERT_NE(training, nullptr);
  ASSERT_NE(blind, nullptr);
  EXPECT_FALSE(blind->held_back_loss(*stream_).value());
  train(*blind, 3);
  train(*training, 2);
  const std::vector<float> weights = training->weights(*stream_).value();
  const auto found = training->held_back_loss(*stream_);
  ASSERT_TRUE(found) << found.error().message;
  MlpOracle oracle(settings.plan.shape, 2 * settings.plan.batch,
                   std::vector<double>(weights.begin(), weights.end()));
  EXPECT_NEAR(found->value(), oracle.forward(held_back.x, held_back.targets), 1e-4);
  ASSERT_TRUE(training->step(*stream_));
  EXPECT_EQ(training->weights(*stream_).value(), blind->weights(*stream_).value());
  EXPECT_EQ(training->losses(*stream_, 0, 3).value(), blind->losses(*stream_, 0, 3).value());
}

ASSAY_KERNEL_BUILDS(TrainingAnMlp);

}  // namespace
}  // namespace assay
