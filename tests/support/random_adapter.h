// A LoRA adapter of random numbers and its sum with a model's weights, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/random.h"
#include "model/transformer/checkpoint_tensors.h"
#include "model/transformer/lora_adapter.h"

namespace assay {

/// An adapter of rank 4 to every matrix but the embedding. Its numbers are so short that products
/// of two and their sums are exact.
inline LoraAdapter random_adapter(const TransformerShape& shape) {
  LoraAdapter adapter = {.rank = 4, .alpha = 8, .matrices = {}};
  Random random(11);
  const auto numbers = [&](std::int64_t count) {
    std::vector<float> all;
    for (std::int64_t i = 0; i < count; ++i) {
      all.push_back(static_cast<float>(static_cast<std::int64_t>(random.next() % 15) - 7) / 64);
    }
    return all;
  };
  for (const NamedTensor& tensor : tensors_of_shard(shape, TransformerParameters::of(shape))) {
    if (tensor.kind != NamedTensor::Kind::matrix || tensor.name == "model.embed_tokens.weight") {
      continue;
    }
    const std::string module = tensor.name.substr(0, tensor.name.rfind('.'));
    adapter.matrices.push_back({module, tensor.shape[0], tensor.shape[1],
                                numbers(4 * tensor.shape[1]), numbers(tensor.shape[0] * 4)});
  }
  return adapter;
}

/// Weights as in TransformerParameters::of(shape), with the adapter added.
inline std::vector<float> with_adapter(const TransformerShape& shape, std::vector<float> weights,
                                       const LoraAdapter& adapter) {
  for (const NamedTensor& tensor : tensors_of_shard(shape, TransformerParameters::of(shape))) {
    const LoraMatrix* const added = adapter.find(tensor.name);
    if (added == nullptr) continue;
    for (std::int64_t i = 0; i < added->rows * added->columns; ++i) {
      const std::int64_t row = i / added->columns, column = i % added->columns;
      double sum = 0;
      for (std::int64_t r = 0; r < adapter.rank; ++r) {
        sum += double(added->b[static_cast<std::size_t>(row * adapter.rank + r)]) *
               double(added->a[static_cast<std::size_t>(r * added->columns + column)]);
      }
      float& weight = weights[tensor.whole.offset + tensor.first + static_cast<std::size_t>(i)];
      weight = static_cast<float>(weight + adapter.scale() * sum);
    }
  }
  return weights;
}

}  // namespace assay
