// The double-precision reference of a GPT against finite differences, and its counts against the
// published ones.
#include "model/transformer/transformer_oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/training/gradient_self_check.h"
#include "model/transformer/named_shapes.h"
#include "support/training_example.h"

namespace assay {
namespace {

using testing::HasSubstr;

/// One sequence after another of a shape's random model against finite differences, by tensor.
void expect_gradients_of_differences(const TransformerShape& shape, bool documents = false) {
  TransformerPlan plan;
  plan.shape = shape;
  plan.sequence = 5;
  plan.batch = 2;
  if (shape.position == PositionKind::learned) plan.shape.positions = plan.sequence;
  TokenBatches data = random_batches(plan, 1, 5);
  if (documents) {
    const PackedRows rows = random_documents(shape.vocabulary, plan.batch, plan.sequence, 4, 5);
    data = batches_of_rows(rows, plan.batch, true).value();
  }
  TransformerOracle oracle = oracle_of(plan, random_weights(plan.shape, 3));
  const auto loss = [&] {
    return oracle.forward(data.tokens, data.targets, plan.sequence, data.document_starts);
  };
  loss();
  oracle.backward();
  const std::vector<double> gradients = oracle.gradients();
  Random random(7);
  for (const NamedTensor& named : oracle.layout().named()) {
    double worst = 0;
    for (int i = 0; i < 50; ++i) {
      const std::size_t at =
          named.tensor.offset + random.next() % static_cast<std::size_t>(named.tensor.elements());
      double& weight = oracle.parameters()[at];
      const double before = weight, h = 1e-5 * std::max(1.0, std::abs(before));
      weight = before + h;
      const double above = loss();
      weight = before - h;
      const double below = loss();
      weight = before;
      const double slope = (above - below) / (2 * h);
      // The difference of two losses near 5 is exact to 1e-15 / 2e-5.
      worst = std::max(worst, (std::abs(slope - gradients[at]) - 1e-10) /
                                  std::max(std::abs(gradients[at]), 1e-4));
    }
    EXPECT_LT(worst, 1e-6) << named.name;
  }
}

TEST(TransformerOracle, GradientsOfAGptAreThoseOfFiniteDifferences) {
  expect_gradients_of_differences(parse_gpt_shape("2L2H16C24F13V").value());
}

TEST(TransformerOracle, GradientsOfALlamaAreThoseOfFiniteDifferences) {
  TransformerShape shape = parse_decoder_shape("2L4H2K16D24C16F13V").value();
  shape.rope_theta = 10;
  shape.rope_scaling = RopeScaling{.original_positions = 8};
  expect_gradients_of_differences(shape);
}

TEST(TransformerOracle, GradientsOfAQwenAreThoseOfFiniteDifferences) {
  TransformerShape shape = parse_decoder_shape("2L3H1K16D16C24F13V").value();
  shape.head_norms = shape.tied = true;
  shape.biases = Biases::qkv;
  expect_gradients_of_differences(shape);
}

TEST(TransformerOracle, GradientsOfDocumentsAreThoseOfFiniteDifferences) {
  TransformerShape shape = parse_decoder_shape("2L3H1K16D16C24F13V").value();
  shape.head_norms = true;
  expect_gradients_of_differences(shape, true);
}

/// Documents packed together have the mean loss and gradients of each alone, by targets that count.
TEST(TransformerOracle, DocumentsPackedTogetherAreThoseAlone) {
  const TransformerShape shape = parse_decoder_shape("2L4H2K16D24C16F13V").value();
  const PackedRows rows = random_documents(shape.vocabulary, 2, 17, 7, 5);
  TransformerPlan plan;
  plan.shape = shape;
  const std::vector<float> weights = random_weights(shape, 3);
  TransformerOracle together = oracle_of(plan, weights), alone = oracle_of(plan, weights);
  const double loss =
      together.forward(rows.tokens, rows.targets, rows.length, rows.document_starts);
  together.backward();
  double total = 0, counted = 0;
  std::vector<double> gradients(together.gradients().size(), 0);
  for (std::size_t begin = 0, end = 0; begin < rows.tokens.size(); begin = end) {
    const auto is_new = [&](std::size_t i) {
      return i == rows.tokens.size() ||
             rows.document_starts[i] == static_cast<std::int32_t>(i % 17);
    };
    for (end = begin + 1; !is_new(end);) ++end;
    const auto tokens = std::span(rows.tokens).subspan(begin, end - begin),
               targets = std::span(rows.targets).subspan(begin, end - begin);
    const auto count = static_cast<double>(
        std::ranges::count_if(targets, [](std::int32_t target) { return target >= 0; }));
    if (count == 0) continue;
    total += count * alone.forward(tokens, targets, static_cast<std::int64_t>(end - begin));
    counted += count;
    alone.backward();
    for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i] += count * alone.gradients()[i];
  }
  for (double& gradient : gradients) gradient /= counted;
  EXPECT_NEAR(loss, total / counted, 1e-12);
  EXPECT_LT(relative_distance(together.gradients(), gradients, 0, gradients.size()), 1e-12);
}

/// Each field of a shape by itself, in a combination that no named model has.
TEST(TransformerOracle, GradientsOfMixedShapesAreThoseOfFiniteDifferences) {
  TransformerShape shape = parse_gpt_shape("1L4H32C24F13V").value();
  shape.kv_heads = 2;
  shape.head_norms = true;
  shape.activation = ActivationKind::swiglu;
  shape.tied = false;
  expect_gradients_of_differences(shape);
  shape.norm = NormKind::rms;
  shape.activation = ActivationKind::gelu;
  shape.position = PositionKind::rotary;
  shape.biases = Biases::none;
  expect_gradients_of_differences(shape);
}

/// A token's logits do not change with the tokens behind it.
TEST(TransformerOracle, LogitsSeeOnlyTheTokensBefore) {
  TransformerShape shape = parse_decoder_shape("2L4H2K16D24C16F13V").value();
  const TransformerOracle oracle = [&] {
    const std::vector<float> weights = random_weights(shape, 3);
    return TransformerOracle(shape, {weights.begin(), weights.end()});
  }();
  const std::vector<std::int32_t> text = {3, 1, 4, 1, 5};
  const std::vector<double> all = oracle.logits(text),
                            first = oracle.logits(std::span(text).first(3));
  ASSERT_EQ(all.size(), 5u * 13);
  ASSERT_EQ(first.size(), 3u * 13);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_NEAR(first[i], all[i], 1e-12) << i;
}

TEST(TransformerOracle, UntrainedItGivesEveryTokenTheSameChance) {
  TransformerPlan plan = small_training().plan;
  const TokenBatches data = random_batches(plan, 1, 5);
  std::vector<float> weights(TransformerParameters::of(plan.shape).elements, 0.0f);
  TransformerOracle oracle = oracle_of(plan, weights);
  EXPECT_NEAR(oracle.forward(data.tokens, data.targets, plan.sequence), std::log(101), 1e-12);
}

}  // namespace
}  // namespace assay
