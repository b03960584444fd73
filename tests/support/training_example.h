// Weights and references of small GPTs, for tests of the training engine.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "advise/selftest/contracts/small_gpt.h"
#include "core/random.h"
#include "model/transformer/transformer_oracle.h"

namespace assay {

using selftest::random_batches;
using selftest::small_gpt;
using selftest::small_training;

/// Returns weights larger than initial ones, so that every gradient matters; biases and norms
/// differ from 0 and 1. The padding of the vocabulary stays 0.
inline std::vector<float> random_weights(const TransformerShape& shape, std::uint64_t seed) {
  const TransformerParameters layout = TransformerParameters::of(shape);
  std::vector<float> weights(layout.elements, 0.0f);
  Random random(seed);
  for (const NamedTensor& named : layout.named()) {
    const bool is_norm = named.name.find("norm") != std::string::npos &&
                         named.name.find("bias") == std::string::npos;
    const bool is_padded = named.name == "embedding" || named.name == "head";
    const std::int64_t rows = is_padded ? shape.vocabulary : named.tensor.rows;
    for (std::int64_t i = 0; i < rows * named.tensor.columns; ++i) {
      weights[named.tensor.offset + static_cast<std::size_t>(i)] =
          static_cast<float>((is_norm ? 1 : 0) + 0.1 * random.normal());
    }
  }
  return weights;
}

/// Returns the settings of two ranks that train three layers together.
inline TransformerSettings two_ranks_training(Sharding sharding, std::uint64_t bucket_bytes) {
  TransformerSettings settings = small_training();
  settings.plan.shape.layers = 3;
  settings.plan.parallel.ranks = 2;
  settings.plan.parallel.sharding = sharding;
  settings.plan.parallel.bucket_bytes = bucket_bytes;
  return settings;
}

/// Returns the settings of the run whose PyTorch losses are in tests/data/gpt_golden.json.
inline TransformerSettings golden_training(DataType precision) {
  TransformerSettings settings = small_training(precision);
  TransformerPlan& plan = settings.plan;
  plan.shape.hidden = 256;
  plan.shape.positions = plan.sequence = 32;
  plan.batch = 4;
  settings.rates = {1e-3f};
  settings.seed = 11;
  return settings;
}
inline TokenBatches golden_batches(const TransformerPlan& plan) {
  return random_batches(plan, 100, 13);
}

/// Returns rows of documents of random tokens, of which the first ones have no target. Padding ends
/// every row, and documents are longer and shorter than `longest`.
inline PackedRows random_documents(std::int64_t vocabulary, std::int64_t rows, std::int64_t length,
                                   std::uint64_t longest, std::uint64_t seed) {
  PackedRows packed;
  packed.rows = rows;
  packed.length = length;
  Random random(seed);
  const auto token = [&] {
    return static_cast<std::int32_t>(random.next() % static_cast<std::uint64_t>(vocabulary));
  };
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto padding = static_cast<std::int64_t>(random.next() % 4);
    for (std::int64_t at = 0; at < length;) {
      const bool padded = at >= length - padding;
      std::int64_t size = padded ? 1 : 1 + static_cast<std::int64_t>(random.next() % longest);
      size = std::min(size, length - (padded ? 0 : padding) - at);
      for (std::int64_t i = 0; i < size; ++i) {
        packed.tokens.push_back(padded ? 0 : token());
        packed.targets.push_back(padded || i < size / 3 ? ignored_target : token());
        packed.document_starts.push_back(static_cast<std::int32_t>(at));
      }
      at += size;
    }
  }
  return packed;
}

inline TransformerOracle oracle_of(const TransformerPlan& plan, const std::vector<float>& weights) {
  return TransformerOracle(plan.shape, std::vector<double>(weights.begin(), weights.end()));
}

/// Returns |a - b| / |b| over a tensor, in the Euclidean norm; if b is zero, returns |a - b|.
template <typename A, typename B>
double relative_distance(const std::vector<A>& a, const std::vector<B>& b, std::size_t first,
                         std::size_t count) {
  double difference = 0, size = 0;
  for (std::size_t i = first; i < first + count; ++i) {
    difference += (double(a[i]) - double(b[i])) * (double(a[i]) - double(b[i]));
    size += double(b[i]) * double(b[i]);
  }
  return size > 0 ? std::sqrt(difference / size) : std::sqrt(difference);
}

}  // namespace assay
