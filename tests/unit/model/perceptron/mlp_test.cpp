// The double-precision reference of a perceptron against finite differences, its shapes and counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"
#include "model/data/regression_batches.h"
#include "model/perceptron/mlp_oracle.h"

namespace assay {
namespace {

using testing::HasSubstr;

TEST(MlpOracle, GradientsAreThoseOfFiniteDifferences) {
  for (const bool bias : {true, false}) {
    MlpShape shape = parse_mlp_shape("16-24-32-8").value();
    shape.bias = bias;
    const RegressionBatches data = synthetic_regression(1, 3, 16, 8, 5);
    std::vector<double> weights(MlpParameters::of(shape).elements);
    Random random(7);
    for (double& weight : weights) weight = 0.3 * random.normal();
    MlpOracle oracle(shape, 3, weights);
    oracle.forward(data.x, data.targets);
    oracle.backward();
    const std::vector<double> gradients = oracle.gradients();
    for (const NamedTensor& named : oracle.layout().named()) {
      double worst = 0;
      for (int i = 0; i < 100; ++i) {
        const std::size_t at =
            named.tensor.offset + random.next() % static_cast<std::size_t>(named.tensor.elements());
        double& weight = oracle.parameters()[at];
        const double before = weight, h = 1e-7;  // so small that no ReLU turns
        weight = before + h;
        const double above = oracle.forward(data.x, data.targets);
        weight = before - h;
        const double below = oracle.forward(data.x, data.targets);
        weight = before;
        worst = std::max(worst, std::abs((above - below) / (2 * h) - gradients[at]));
      }
      EXPECT_LT(worst, 1e-7) << named.name;
    }
  }
}

TEST(MlpShape, WidthsJoinedByHyphens) {
  const MlpShape usual = parse_mlp_shape("mlp").value();
  EXPECT_EQ(usual.widths, (std::vector<std::int64_t>{4096, 8192, 8192, 4096}));
  EXPECT_NEAR(usual.parameters(), 134.24e6, 0.01e6);  // the seed's 134M
  EXPECT_TRUE(is_mlp("mlp"));
  EXPECT_TRUE(is_mlp("16-8"));
  EXPECT_FALSE(is_mlp("124M"));
  EXPECT_FALSE(is_mlp("gpt-2"));
  for (const char* text : {"-", "16-", "-16", "16-9", "16--8", "0-8", "16-8x",
                           "99999999999999999999-8", "16-1048584"}) {
    const auto refused = parse_mlp_shape(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().kind, ErrorKind::usage) << text;
    EXPECT_THAT(refused.error().message, HasSubstr("multiples of 8 up to 1048576"));
  }
}

/// Two products forward and two backward of each layer, less the input's gradient.
TEST(MlpShape, OperationsAddUpToTheStep) {
  MlpPlan plan;
  plan.shape = parse_mlp_shape("16-24-8").value();
  plan.batch = 5;
  double flops = 0;
  for (const OperationCost& cost : costs_of(plan)) flops += cost.flops;
  EXPECT_EQ(flops, 5 * plan.shape.flops_per_sample());
  EXPECT_EQ(flops, 5 * (2 * 2 * 16 * 24 + 3 * 2 * 24 * 8));
}

TEST(MlpLayout, WithoutMomentsLessIsKept) {
  MlpPlan plan;
  plan.shape = parse_mlp_shape("mlp").value();
  plan.batch = 256;
  const std::uint64_t elements = MlpParameters::of(plan.shape).elements;
  EXPECT_EQ(memory_of(plan).optimizer, 12 * elements);  // master and two moments in f32
  plan.optimizer = Optimizer::sgd;
  EXPECT_EQ(memory_of(plan).optimizer, 4 * elements);
  plan.states = OptimizerStates::stochastic;
  EXPECT_EQ(memory_of(plan).optimizer, 0u);
  const std::int64_t batch = largest_batch(plan, std::uint64_t{1} << 30);
  plan.batch = batch;
  EXPECT_LE(memory_of(plan).total(), std::uint64_t{1} << 30);
  plan.batch = batch + 1;
  EXPECT_GT(memory_of(plan).total(), std::uint64_t{1} << 30);
  EXPECT_THAT(what_would_fit(plan, std::uint64_t{1} << 30),
              HasSubstr("batch=" + std::to_string(batch)));
  EXPECT_THAT(what_would_fit(plan, 1000), HasSubstr("nothing"));
}

}  // namespace
}  // namespace assay
