// Small GPTs in training, with random tokens.
#pragma once

#include <cstdint>

#include "model/data/token_batches.h"
#include "model/training/transformer_training.h"
#include "model/transformer/named_shapes.h"

namespace assay::selftest {

/// Returns a shape with awkward sizes: an odd sequence, a vocabulary that needs padding, a
/// feed-forward width that is not a multiple of the heads' width.
inline TransformerShape small_gpt() {
  TransformerShape shape = parse_gpt_shape("2L2H64C136F101V").value();
  shape.positions = 17;
  return shape;
}

/// Returns a training of small_gpt() with 3 sequences of 17 tokens in a step.
inline TransformerSettings small_training(DataType precision = DataType::f32) {
  TransformerSettings settings;
  settings.plan.shape = small_gpt();
  settings.plan.batch = 3;
  settings.plan.sequence = 17;
  settings.plan.type = precision == DataType::tf32 ? DataType::f32 : precision;
  settings.precision = precision;
  settings.measured_products = false;
  return settings;
}

/// Returns `batches` batches of the plan's shape, cut from 4096 synthetic tokens, so that a
/// sequence may have at most 4095.
inline TokenBatches random_batches(const TransformerPlan& plan, std::int64_t batches,
                                   std::uint64_t seed) {
  const auto vocabulary = static_cast<std::int32_t>(plan.shape.vocabulary);
  return cut_batches(synthetic_tokens(vocabulary, 4096, seed), batches, plan.batch, plan.sequence,
                     seed)
      .value();
}

}  // namespace assay::selftest
