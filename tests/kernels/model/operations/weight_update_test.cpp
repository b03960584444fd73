// What happens to all parameters of a model as arrays: sums, checksums and updates.
#include "model/operations/weight_update.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/model_test.h"

namespace assay {
namespace {

class WeightUpdates : public ModelTest {
 protected:
  /// Gradient descent in f32, clipped to a norm of 1, of two pieces of `count` elements each; where
  /// they begin in a model is not where they are here. `arrays` must outlive it.
  WeightUpdate clipped_descent(const Values& weights, const Values& gradients, std::size_t count,
                               Elementwise& arrays) {
    ParameterPlan plan;
    plan.type = DataType::f32;
    plan.optimizer = Optimizer::sgd;
    std::vector<UpdatePiece> pieces;
    for (const std::size_t first : {std::size_t{0}, count}) {
      pieces.push_back({.weights = weights.buffer.as<float>() + first,
                        .gradients = gradients.buffer.as<float>() + first,
                        .begin = 1000 + 3 * first,
                        .elements = count});
    }
    const UpdateSettings settings = {0.0f, 0.0f, 1e-8f, 0.0f, 1.0f};
    return WeightUpdate::create(*device_, *stream_, plan, settings, {0.5f}, pieces, 7, arrays)
        .value();
  }
};

TEST_P(WeightUpdates, ArraysAsArrays) {
  for (const DataType type : types) {
    Elementwise arrays = Elementwise::create(*device_, type).value();
    constexpr std::size_t count = 1288;
    const Values x = normal(type, count, 1), y = normal(type, count, 2);
    std::vector<double> sums;
    for (std::size_t i = 0; i < count; ++i) sums.push_back(double(x.host[i]) + y.host[i]);
    ASSERT_TRUE(arrays.add(*stream_, y.buffer.data(), x.buffer.data(), count));
    expect_near(read(y, type), sums, type, "sum");

    const auto checksum = [&](const Values& of, std::uint64_t first) {
      const Buffer sum = upload(std::vector<std::uint64_t>{0});
      EXPECT_TRUE(arrays.checksum(*stream_, sum.as<std::uint64_t>(), of.buffer.data(),
                                  count * size_of(type), first));
      return read_back<std::uint64_t>(*stream_, sum.as<std::uint64_t>(), 1).value().front();
    };
    std::vector<float> swapped = x.host;
    std::swap(swapped[3], swapped[1000]);
    EXPECT_EQ(checksum(x, 0), checksum(values(type, x.host), 0));
    EXPECT_NE(checksum(x, 0), checksum(values(type, swapped), 0));
    EXPECT_NE(checksum(x, 0), checksum(x, 1));

    if (type == DataType::f32) continue;
    const Values wide = unknown(DataType::f32, count), narrow = unknown(type, count);
    ASSERT_TRUE(arrays.widen(*stream_, wide.buffer.as<float>(), x.buffer.data(), count));
    EXPECT_EQ(read(wide, DataType::f32), x.host);
    ASSERT_TRUE(arrays.narrow(*stream_, narrow.buffer.data(), wide.buffer.as<float>(), count));
    EXPECT_EQ(read(narrow, type), x.host);
  }
}

/// The norm of gradients of which another rank has the other half; two pieces here.
TEST_P(WeightUpdates, ClippingByTheNormOverRanks) {
  constexpr std::size_t count = 64;
  const Values weights = values(DataType::f32, std::vector<float>(2 * count, 1.0f));
  const Values gradients = values(DataType::f32, std::vector<float>(2 * count, 3.0f));
  const Buffer on_device = upload(std::vector<StepState>(1));
  Elementwise arrays = Elementwise::create(*device_, DataType::f32).value();
  WeightUpdate update = clipped_descent(weights, gradients, count, arrays);
  const SumOverRanks twice = [&](Stream& stream, float* sum) -> Status {
    const float here = TRY(read_back<float>(stream, sum, 1)).front();
    EXPECT_FLOAT_EQ(here, 9 * 2 * count);
    const float all = 2 * here;
    TRY(stream.copy(sum, &all, sizeof all));
    return stream.synchronize();
  };
  ASSERT_TRUE(update.update(*stream_, on_device.as<StepState>(), twice));
  const float norm = std::sqrt(9.0f * 4 * count);
  for (const float x : read(weights, DataType::f32)) ASSERT_NEAR(x, 1 - 0.5 * 3 / norm, 1e-5);
}

/// Gradients that were added to the norm early, from the middle of a piece on, are not read for it
/// again; the next step adds all of its own, also after one that failed. Pieces are counted by
/// their elements, wherever in the model they begin.
TEST_P(WeightUpdates, SquaresThatWereAddedEarlyCountOnce) {
  constexpr std::size_t count = 64, early = 96;
  const Values weights = values(DataType::f32, std::vector<float>(2 * count, 1.0f));
  std::vector<float> of_step(2 * count, 3.0f);
  const Values gradients = values(DataType::f32, of_step);
  const Buffer on_device = upload(std::vector<StepState>(1));
  Elementwise arrays = Elementwise::create(*device_, DataType::f32).value();
  WeightUpdate update = clipped_descent(weights, gradients, count, arrays);
  const auto norm = [&] {
    return read_back<StepState>(*stream_, on_device.data(), 1).value().front().gradient_norm;
  };
  ASSERT_TRUE(update.add_squares(*stream_, early));
  std::fill(of_step.begin() + early, of_step.end(), 1.0f);
  ASSERT_TRUE(stream_->copy(gradients.buffer.data(), of_step.data(), gradients.buffer.bytes()));
  ASSERT_TRUE(update.update(*stream_, on_device.as<StepState>(), nullptr));
  EXPECT_FLOAT_EQ(norm(), std::sqrt(9.0f * 2 * count));
  ASSERT_TRUE(update.update(*stream_, on_device.as<StepState>(), nullptr));
  EXPECT_FLOAT_EQ(norm(), std::sqrt(9.0f * early + (2 * count - early)));
  ASSERT_TRUE(update.add_squares(*stream_, early));
  update.forget_squares();
  std::fill(of_step.begin(), of_step.end(), 2.0f);
  ASSERT_TRUE(stream_->copy(gradients.buffer.data(), of_step.data(), gradients.buffer.bytes()));
  ASSERT_TRUE(update.update(*stream_, on_device.as<StepState>(), nullptr));
  EXPECT_FLOAT_EQ(norm(), std::sqrt(4.0f * 2 * count));
}

/// Stochastic rounding: the mean of many small updates is right, where rounding to nearest would
/// lose each of them.
TEST_P(WeightUpdates, StochasticUpdatesAreNotLost) {
  constexpr std::size_t count = 8192;
  UpdateSettings settings = {0.0f, 0.0f, 1e-8f, 0.0f, 0.0f};  // each step is -rate * sign(g)
  ParameterPlan plan;
  plan.states = OptimizerStates::stochastic;
  const Values weights = values(DataType::bf16, std::vector<float>(count, 1.0f));
  const Values gradients = values(DataType::bf16, std::vector<float>(count, 0.5f));
  const Values first = unknown(DataType::bf16, count), second = unknown(DataType::bf16, count);
  StepState state = {};
  state.beta1_power = state.beta2_power = 1;
  const Buffer on_device = upload(std::vector<StepState>{state});
  const std::vector<UpdatePiece> pieces = {{.weights = weights.buffer.data(),
                                            .first = first.buffer.data(),
                                            .second = second.buffer.data(),
                                            .gradients = gradients.buffer.data(),
                                            .elements = count}};
  Elementwise arrays = Elementwise::create(*device_, plan.type).value();
  WeightUpdate update =
      WeightUpdate::create(*device_, *stream_, plan, settings, {1e-3f}, pieces, 7, arrays).value();
  ASSERT_TRUE(update.begin(*stream_));
  for (int step = 0; step < 4; ++step) {
    ASSERT_TRUE(update.update(*stream_, on_device.as<StepState>(), nullptr));
  }
  const std::vector<float> found = read(weights, DataType::bf16);
  double mean = 0;
  for (const float x : found) mean += x / double(count);
  // bf16 has steps of 1/256 below 1; the deviation of the mean is below 1/256 / sqrt(8192).
  EXPECT_NEAR(mean, 1 - 4e-3, 5.0 / 256 / std::sqrt(double(count)));
}

ASSAY_KERNEL_BUILDS(WeightUpdates);

}  // namespace
}  // namespace assay
