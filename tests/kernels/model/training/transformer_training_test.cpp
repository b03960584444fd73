// Gradients of transformers in every build of the kernels, against the double-precision reference.
#include "support/transformer_training_test.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <tuple>
#include <vector>

namespace assay {
namespace {

class TrainingATransformer : public TransformerTrainingTest {};

TEST_P(TrainingATransformer, GradientsInF32AreTheReferences) {
  expect_gradients(small_training(), 1e-5, 1e-4);
}

TEST_P(TrainingATransformer, GradientsInBf16AreNearTheReferences) {
  expect_gradients(small_training(DataType::bf16), 0.01, 0.03);
}

TEST_P(TrainingATransformer, GradientsInF16AreNearTheReferences) {
  expect_gradients(small_training(DataType::f16), 1e-3, 5e-3);
}

TEST_P(TrainingATransformer, GradientsOfOtherShapesAreTheReferences) {
  for (const TransformerShape& shape : other_shapes()) {
    for (const auto& [type, of_loss, of_gradient] : {std::tuple(DataType::f32, 1e-5, 1e-4),
                                                     {DataType::bf16, 0.01, 0.03},
                                                     {DataType::f16, 1e-3, 5e-3}}) {
      TransformerSettings settings = small_training(type);
      settings.plan.shape = shape;
      expect_gradients(settings, of_loss, of_gradient);
    }
  }
}

/// Own attention with heads that share keys.
TEST_P(TrainingATransformer, OwnAttentionOfSharedKeysIsTheReferences) {
  for (const char* model : {"1L4H2K32D72C40F101V", "1L3H1K64D72C40F101V"}) {
    TransformerSettings settings = small_training(DataType::bf16);
    settings.plan.shape = parse_decoder_shape(model).value();
    settings.plan.shape.head_norms = true;
    settings.plan.attention = AttentionWay::own;
    settings.plan.sequence = 70;
    settings.plan.batch = 2;
    expect_gradients(settings, 0.02, 0.03);
  }
}

/// Documents of all lengths packed into rows, with targets that are ignored, by plain attention and
/// by own attention with tiles that hold several documents and documents that hold several tiles.
TEST_P(TrainingATransformer, PackedDocumentsAreTheReferences) {
  struct Case {
    AttentionWay attention;
    const char* model;
    std::int64_t sequence;
    std::uint64_t longest;
  };
  for (const Case c : {Case{AttentionWay::plain, "2L4H2K16D72C40F101V", 33, 9},
                       {AttentionWay::own, "1L4H2K32D72C40F101V", 150, 20},
                       {AttentionWay::own, "1L2H1K64D72C40F101V", 200, 150},
                       {AttentionWay::own, "1L2H128D72C40F101V", 140, 130}}) {
    TransformerSettings settings =
        small_training(c.attention == AttentionWay::plain ? DataType::f32 : DataType::bf16);
    TransformerPlan& plan = settings.plan;
    plan.shape = parse_decoder_shape(c.model).value();
    plan.shape.head_norms = true;
    plan.attention = c.attention;
    plan.sequence = c.sequence;
    plan.batch = 2;
    plan.documents = true;
    const PackedRows rows =
        random_documents(plan.shape.vocabulary, plan.batch, plan.sequence, c.longest, 5);
    const bool exact = c.attention == AttentionWay::plain;
    expect_gradients(settings, batches_of_rows(rows, plan.batch, true).value(), exact ? 1e-5 : 0.02,
                     exact ? 1e-4 : 0.03);
  }
}

/// Kernels of warpgroups attend within documents, too.
TEST_P(TrainingATransformer, PackedDocumentsInWarpgroupsAreTheReferences) {
  setenv("ASSAY_OWN_ATTENTION", "groups", 1);
  TransformerSettings settings = small_training(DataType::bf16);
  TransformerPlan& plan = settings.plan;
  plan.shape = parse_decoder_shape("1L2H1K64D72C40F101V").value();
  plan.attention = AttentionWay::own;
  plan.sequence = 200;
  plan.batch = 2;
  plan.documents = true;
  const PackedRows rows = random_documents(plan.shape.vocabulary, 2, plan.sequence, 90, 5);
  expect_gradients(settings, batches_of_rows(rows, 2, true).value(), 0.02, 0.03);
  unsetenv("ASSAY_OWN_ATTENTION");
}

/// Logits of a few tokens at a time, of a head of its own and of a tied one, have the losses and
/// gradients of all at once.
TEST_P(TrainingATransformer, LogitsInPartsAreThoseOfAll) {
  for (const bool tied : {false, true}) {
    TransformerSettings settings = small_training();
    TransformerPlan& plan = settings.plan;
    plan.shape = parse_decoder_shape("1L4H2K16D72C40F101V").value();
    plan.shape.tied = tied;
    plan.documents = true;
    const PackedRows rows =
        random_documents(plan.shape.vocabulary, plan.batch, plan.sequence, 9, 5);
    const TokenBatches data = batches_of_rows(rows, plan.batch, true).value();
    ASSERT_FALSE(plan.cuts_logits());
    expect_gradients(settings, data, 1e-5, 1e-4);
    for (const std::int64_t part : {8, 24}) {
      plan.head_rows = part;
      ASSERT_TRUE(plan.cuts_logits());
      expect_gradients(settings, data, 1e-5, 1e-4);
    }
    auto made = TransformerTraining::create(*device_, *stream_, settings, data, data);
    ASSERT_TRUE(made) << made.error().message;
    ASSERT_TRUE((*made)->pass(*stream_, 0));
    EXPECT_NEAR((*made)->held_back_loss(*stream_).value().value(),
                (*made)->losses(*stream_, 0, 1).value()[0], 1e-5);
  }
}

/// The last batch is filled with rows that do not count, and each step's mean is over all targets
/// of its passes.
TEST_P(TrainingATransformer, AccumulatedPassesOfDocumentsAreOneLargerBatch) {
  TransformerSettings settings = small_training();
  TransformerPlan& plan = settings.plan;
  plan.shape = parse_decoder_shape("2L4H2K16D72C40F101V").value();
  plan.documents = true;
  plan.batch = 2;
  settings.accumulate = 2;
  const PackedRows rows = random_documents(plan.shape.vocabulary, 3, plan.sequence, 9, 5);
  const TokenBatches data = batches_of_rows(rows, plan.batch, true).value();
  ASSERT_EQ(data.batches, 2);
  const std::vector<float> weights = random_weights(plan.shape, 3);
  auto training = start(settings, data, weights);
  ASSERT_NE(training, nullptr);
  for (int pass = 0; pass < 2; ++pass) ASSERT_TRUE(training->pass(*stream_, std::uint64_t(pass)));
  TransformerOracle oracle = oracle_of(plan, weights);
  const double loss =
      oracle.forward(rows.tokens, rows.targets, plan.sequence, rows.document_starts);
  oracle.backward();
  EXPECT_NEAR(training->losses(*stream_, 0, 1).value()[0], loss, 1e-5);
  const std::vector<float> gradients = training->gradients(*stream_).value();
  EXPECT_LT(relative_distance(gradients, oracle.gradients(), 0, gradients.size()), 1e-4);
}

/// Passes that add to gradients have those of one larger batch, also of a head of its own.
TEST_P(TrainingATransformer, AccumulatedPassesOfOtherShapesAreOneLargerBatch) {
  for (const TransformerShape& shape : other_shapes()) {
    TransformerSettings settings = small_training();
    settings.plan.shape = shape;
    const TokenBatches data = random_batches(settings.plan, 2, 5);
    const std::vector<float> weights = random_weights(shape, 3);
    settings.accumulate = 2;
    auto training = start(settings, data, weights);
    ASSERT_NE(training, nullptr);
    for (int step = 0; step < 2; ++step) {  // the second one must not add to the first
      ASSERT_TRUE(training->pass(*stream_, 0));
      ASSERT_TRUE(training->pass(*stream_, 1));
    }
    TransformerOracle oracle = oracle_of(settings.plan, weights);
    oracle.forward(data.tokens, data.targets, settings.plan.sequence);
    oracle.backward();
    const std::vector<float> gradients = training->gradients(*stream_).value();
    EXPECT_LT(relative_distance(gradients, oracle.gradients(), 0, gradients.size()), 1e-4);
  }
}

/// Weights that bf16 holds exactly are trained in f32 and in bf16. The gradients of each tensor
/// have nearly the same direction and length.
TEST_P(TrainingATransformer, Bf16FollowsF32) {
  const TransformerSettings narrow = small_training(DataType::bf16), wide = small_training();
  const TokenBatches data = random_batches(wide.plan, 1, 5);
  auto rounded = start(narrow, data, random_weights(wide.plan.shape, 3));
  ASSERT_NE(rounded, nullptr);
  auto exact = start(wide, data, rounded->weights(*stream_).value());
  ASSERT_NE(exact, nullptr);
  ASSERT_TRUE(rounded->pass(*stream_, 0));
  ASSERT_TRUE(exact->pass(*stream_, 0));
  EXPECT_NEAR(rounded->losses(*stream_, 0, 1).value()[0], exact->losses(*stream_, 0, 1).value()[0],
              0.01);
  const std::vector<float> found = rounded->gradients(*stream_).value();
  const std::vector<float> expected = exact->gradients(*stream_).value();
  for (const NamedTensor& named : exact->tensors()) {
    const auto count = static_cast<std::size_t>(named.tensor.elements());
    const std::size_t first = named.tensor.offset;
    EXPECT_LT(relative_distance(found, expected, first, count), 0.03) << named.name;
    double product = 0, squares = 0, expected_squares = 0;
    for (std::size_t i = first; i < first + count; ++i) {
      product += double(found[i]) * expected[i];
      squares += double(found[i]) * found[i];
      expected_squares += double(expected[i]) * expected[i];
    }
    EXPECT_GT(product / std::sqrt(squares * expected_squares), 0.999) << named.name;
  }
}

/// Own attention, with heads 32, 64 and 128 wide and sequences that end inside a tile.
TEST_P(TrainingATransformer, OwnAttentionIsTheReferences) {
  struct Case {
    std::int64_t heads, head_width, sequence;
  };
  for (const Case c : {Case{2, 32, 17}, Case{2, 64, 130}, Case{1, 128, 70}}) {
    for (const DataType type : {DataType::bf16, DataType::f16}) {
      TransformerSettings settings = small_training(type);
      TransformerPlan& plan = settings.plan;
      plan.attention = AttentionWay::own;
      plan.shape.layers = 1;
      plan.shape.heads = plan.shape.kv_heads = c.heads;
      plan.shape.head_width = c.head_width;
      plan.shape.width = c.heads * c.head_width;
      plan.sequence = plan.shape.positions = c.sequence;
      plan.batch = 2;
      const bool finer = type == DataType::f16;
      expect_gradients(settings, finer ? 2e-3 : 0.02, finer ? 5e-3 : 0.03);
    }
  }
}

/// Two passes of three sequences have the gradients of one pass of six.
TEST_P(TrainingATransformer, AccumulatedPassesAreOneLargerBatch) {
  TransformerSettings settings = small_training();
  const TokenBatches data = random_batches(settings.plan, 2, 5);
  const std::vector<float> weights = random_weights(settings.plan.shape, 3);
  settings.accumulate = 2;
  auto training = start(settings, data, weights);
  ASSERT_NE(training, nullptr);
  ASSERT_TRUE(training->pass(*stream_, 0));
  ASSERT_TRUE(training->pass(*stream_, 1));
  settings.plan.batch = 6;
  TransformerOracle oracle = oracle_of(settings.plan, weights);
  const double loss = oracle.forward(data.tokens, data.targets, settings.plan.sequence);
  oracle.backward();
  EXPECT_NEAR(training->losses(*stream_, 0, 1).value()[0], loss, 1e-5);
  const std::vector<float> gradients = training->gradients(*stream_).value();
  EXPECT_LT(relative_distance(gradients, oracle.gradients(), 0, gradients.size()), 1e-4);
}

ASSAY_KERNEL_BUILDS(TrainingATransformer);

}  // namespace
}  // namespace assay
