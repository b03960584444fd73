// Steps of training: losses, also beside PyTorch's, updates, and scales of losses.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/read_file.h"
#include "core/write_file.h"
#include "model/training/checkpoint.h"
#include "support/transformer_training_test.h"

namespace assay {
namespace {

class LearningOfATransformer : public TransformerTrainingTest {};

/// With initial weights every token is nearly as likely as any other.
TEST_P(LearningOfATransformer, UntrainedItKnowsNothing) {
  for (const DataType precision : {DataType::f32, DataType::bf16, DataType::f16}) {
    const TransformerSettings settings = small_training(precision);
    auto made = TransformerTraining::create(*device_, *stream_, settings,
                                            random_batches(settings.plan, 1, 5));
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_NEAR(train(**made, 1)[0], std::log(101), 0.1) << name_of(precision);
  }
}

/// The loss of batches that no step sees is the reference's.
TEST_P(LearningOfATransformer, HeldBackBatchesAreOnlyLookedAt) {
  const TransformerSettings settings = small_training();
  const TokenBatches data = random_batches(settings.plan, 2, 5),
                     held_back = random_batches(settings.plan, 1, 6);
  const std::vector<float> weights = random_weights(settings.plan.shape, 3);
  auto made = TransformerTraining::create(*device_, *stream_, settings, data, held_back);
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_TRUE((*made)->restart(*stream_, weights));
  const auto found = (*made)->held_back_loss(*stream_);
  ASSERT_TRUE(found) << found.error().message;
  TransformerOracle oracle = oracle_of(settings.plan, weights);
  EXPECT_NEAR(found->value(),
              oracle.forward(held_back.tokens, held_back.targets, settings.plan.sequence), 1e-4);
  auto blind = start(settings, data, weights);
  ASSERT_NE(blind, nullptr);
  EXPECT_EQ(train(**made, 2), train(*blind, 2));
}

/// Every kind of optimizer state learns one batch by heart, and each weight moves as AdamW says.
TEST_P(LearningOfATransformer, OneBatchIsLearntByHeart) {
  struct Kind {
    DataType precision;
    OptimizerStates states;
  };
  for (const Kind kind :
       {Kind{DataType::f32, OptimizerStates::master}, Kind{DataType::bf16, OptimizerStates::master},
        Kind{DataType::bf16, OptimizerStates::stochastic},
        Kind{DataType::f16, OptimizerStates::master}}) {
    TransformerSettings settings = small_training(kind.precision);
    settings.plan.states = kind.states;
    settings.plan.batch = 1;
    settings.rates = {1e-2f};
    const TokenBatches data = random_batches(settings.plan, 1, 5);
    auto training = start(settings, data, random_weights(settings.plan.shape, 3));
    ASSERT_NE(training, nullptr);
    const int steps = device_->facts().emulated ? 4 : 60;
    const std::vector<float> losses = train(*training, static_cast<std::uint64_t>(steps));
    EXPECT_LT(losses.back(), device_->facts().emulated ? losses.front() : 0.1f)
        << name_of(kind.precision);
  }
}

/// A loss scale so high that gradients overflow: updates are left out, nothing else changes, until
/// it is low enough; then losses are those of f32 from the same weights. In one replayed graph.
TEST_P(LearningOfATransformer, ATooHighLossScaleRecovers) {
  TransformerSettings narrow = small_training(DataType::f16), wide = small_training();
  narrow.rates = wide.rates = {3e-3f};
  narrow.loss_scaling.initial = 0x1p25f;
  const TokenBatches data = random_batches(wide.plan, 1, 5);
  auto scaled = start(narrow, data, random_weights(wide.plan.shape, 3));
  ASSERT_NE(scaled, nullptr);
  const std::vector<float> weights = scaled->weights(*stream_).value();
  auto exact = start(wide, data, weights);
  ASSERT_NE(exact, nullptr);
  ASSERT_TRUE(scaled->step(*stream_));
  StepState state = scaled->state(*stream_).value();
  EXPECT_EQ(state.step, 1u);
  EXPECT_EQ(state.skipped, 1u);
  EXPECT_EQ(state.loss_scale, 0x1p24f);
  EXPECT_EQ(state.beta1_power, 1);
  EXPECT_EQ(scaled->weights(*stream_).value(), weights);
  ASSERT_TRUE(stream_->begin_capture());
  const Status queued = scaled->step(*stream_);
  auto graph = stream_->end_capture();
  ASSERT_TRUE(queued) << queued.error().message;
  ASSERT_TRUE(graph) << graph.error().message;
  const std::uint64_t count = device_->facts().emulated ? 3 : 20;
  do {
    ASSERT_TRUE(stream_->launch(**graph));
    state = scaled->state(*stream_).value();
  } while (state.step < 30 && state.skips_update != 0);
  ASSERT_EQ(state.skips_update, 0) << "no loss scale is low enough";
  EXPECT_EQ(state.skipped, state.step - 1);
  EXPECT_EQ(state.loss_scale, std::ldexp(1.0f, 25 - static_cast<int>(state.skipped)));
  for (std::uint64_t i = 1; i < count; ++i) ASSERT_TRUE(stream_->launch(**graph));
  EXPECT_EQ(scaled->state(*stream_).value().skipped, state.skipped);
  const std::vector<float> found = scaled->losses(*stream_, state.skipped, count).value();
  const std::vector<float> expected = train(*exact, count);
  EXPECT_LT(expected.back(), expected.front());
  for (std::size_t i = 0; i < count; ++i) EXPECT_NEAR(found[i], expected[i], 5e-3) << i;
}

/// After N good steps in a row the loss scale is doubled; after a skipped step the count restarts.
TEST_P(LearningOfATransformer, TheLossScaleGrows) {
  TransformerSettings settings = small_training(DataType::f16);
  settings.loss_scaling = {1024, 2};
  auto training =
      start(settings, random_batches(settings.plan, 1, 5), random_weights(settings.plan.shape, 3));
  ASSERT_NE(training, nullptr);
  std::vector<float> scales;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(training->step(*stream_));
    scales.push_back(training->state(*stream_).value().loss_scale);
  }
  EXPECT_EQ(scales, (std::vector<float>{1024, 2048, 2048, 4096}));
  StepState state = training->state(*stream_).value();
  state.loss_scale = 0x1p29f;
  state.good_steps = 1;
  ASSERT_TRUE(training->set_state(*stream_, state));
  ASSERT_TRUE(training->step(*stream_));
  state = training->state(*stream_).value();
  EXPECT_EQ(state.good_steps, 0u);
  EXPECT_EQ(state.loss_scale, 0x1p28f);
  EXPECT_EQ(state.skipped, 1u);
}

/// Losses of PyTorch from the same weights and tokens (scripts/train-golden): within 1e-4 for ten
/// steps in f32; in bf16 within 0.02 for twenty steps and 0.5% from step 80 to 100.
TEST_P(LearningOfATransformer, LossesArePyTorchs) {
  const Json golden =
      Json::parse(read_file(std::string(ASSAY_SOURCE_DIR) + "/tests/data/gpt_golden.json").value());
  for (const DataType precision : {DataType::f32, DataType::bf16}) {
    const TransformerSettings settings = golden_training(precision);
    auto made =
        TransformerTraining::create(*device_, *stream_, settings, golden_batches(settings.plan));
    ASSERT_TRUE(made) << made.error().message;
    const bool narrow = precision == DataType::bf16;
    const std::size_t steps = device_->facts().emulated ? 3 : narrow ? 100 : 10;
    const std::vector<float> losses = train(**made, steps);
    const auto expected = golden[std::string(name_of(precision))].get<std::vector<double>>();
    ASSERT_EQ(expected.size(), 100u);
    for (std::size_t i = 0; i < std::min<std::size_t>(steps, 20); ++i) {
      EXPECT_NEAR(losses[i], expected[i], narrow ? 0.02 : 1e-4) << name_of(precision) << " " << i;
    }
    if (steps < 100) continue;
    const double ours = std::accumulate(losses.begin() + 80, losses.end(), 0.0) / 20;
    const double theirs = std::accumulate(expected.begin() + 80, expected.end(), 0.0) / 20;
    EXPECT_NEAR(ours, theirs, 0.005 * theirs);
    EXPECT_LT(ours, 0.8 * losses[0]) << "nothing was learnt";
  }
}

/// Writes what scripts/train-golden needs; only that asks for it.
TEST_P(LearningOfATransformer, StartForPyTorch) {
  const char* const folder = std::getenv("ASSAY_GOLDEN_FOLDER");
  if (folder == nullptr) GTEST_SKIP() << "ASSAY_GOLDEN_FOLDER does not name a folder";
  for (const DataType precision : {DataType::f32, DataType::bf16}) {
    const TransformerSettings settings = golden_training(precision);
    const TokenBatches data = golden_batches(settings.plan);
    auto made = TransformerTraining::create(*device_, *stream_, settings, data);
    ASSERT_TRUE(made) << made.error().message;
    const std::string prefix = fmt::format("{}/{}", folder, name_of(precision));
    const Status saved = save_checkpoint(**made, *stream_, prefix + ".safetensors");
    ASSERT_TRUE(saved) << saved.error().message;
    const auto text_of = [](const std::vector<std::int32_t>& numbers) {
      return std::string_view(reinterpret_cast<const char*>(numbers.data()), 4 * numbers.size());
    };
    ASSERT_TRUE(write_file(prefix + ".tokens", text_of(data.tokens)));
    ASSERT_TRUE(write_file(prefix + ".targets", text_of(data.targets)));
  }
}

TEST_P(LearningOfATransformer, AnUpdateIsAdamWs) {
  TransformerSettings settings = small_training();
  settings.rates = {0.01f, 0.02f};
  settings.update.clip = 0.5f;
  const TokenBatches data = random_batches(settings.plan, 1, 5);
  std::vector<float> expected = random_weights(settings.plan.shape, 3);
  auto training = start(settings, data, expected);
  ASSERT_NE(training, nullptr);
  std::vector<double> first(expected.size()), second(expected.size());
  for (int step = 1; step <= 2; ++step) {
    ASSERT_TRUE(training->step(*stream_));
    const std::vector<float> gradients = training->gradients(*stream_).value();
    double squares = 0;
    for (const float g : gradients) squares += double(g) * g;
    const double norm = std::sqrt(squares), factor = norm > 0.5 ? 0.5 / norm : 1;
    const StepState state = training->state(*stream_).value();
    EXPECT_NEAR(state.gradient_norm, norm, 1e-5 * norm);
    EXPECT_GT(norm, 0.5) << "nothing is clipped";
    EXPECT_EQ(state.step, static_cast<unsigned long long>(step));
    const double rate = step == 1 ? 0.01 : 0.02;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double g = gradients[i] * factor;
      first[i] = 0.9 * first[i] + 0.1 * g;
      second[i] = 0.999 * second[i] + 0.001 * g * g;
      const double m = first[i] / (1 - std::pow(0.9, step));
      const double v = second[i] / (1 - std::pow(0.999, step));
      expected[i] =
          static_cast<float>(expected[i] * (1 - rate * 0.01) - rate * m / (std::sqrt(v) + 1e-8));
    }
    const std::vector<float> weights = training->weights(*stream_).value();
    double worst = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      worst = std::max(worst, std::abs(double(weights[i]) - expected[i]));
    }
    EXPECT_LT(worst, 1e-4 * rate) << step;
  }
}

ASSAY_KERNEL_BUILDS(LearningOfATransformer);

}  // namespace
}  // namespace assay
