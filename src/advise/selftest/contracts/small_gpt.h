// Small GPTs in training, with random tokens.
#pragma once

#include <cstdint>

#include "model/data/token_batches.h"
#include "model/training/gpt_training.h"

namespace assay::selftest {

/// A shape with awkward sizes: an odd sequence, a vocabulary that needs padding, a hidden width
/// that is not a multiple of the heads'.
inline GptShape small_gpt() {
  GptShape shape;
  shape.layers = 2;
  shape.heads = 2;
  shape.width = 64;
  shape.hidden = 136;
  shape.vocabulary = 101;
  shape.positions = 17;
  return shape;
}

inline GptSettings small_training(DataType precision = DataType::f32) {
  GptSettings settings;
  settings.plan.shape = small_gpt();
  settings.plan.batch = 3;
  settings.plan.sequence = 17;
  settings.plan.type = precision == DataType::tf32 ? DataType::f32 : precision;
  settings.precision = precision;
  settings.measured_products = false;
  return settings;
}

inline TokenBatches random_batches(const GptPlan& plan, std::int64_t batches, std::uint64_t seed) {
  const auto vocabulary = static_cast<std::int32_t>(plan.shape.vocabulary);
  return cut_batches(synthetic_tokens(vocabulary, 4096, seed), batches, plan.batch, plan.sequence,
                     seed)
      .value();
}

}  // namespace assay::selftest
