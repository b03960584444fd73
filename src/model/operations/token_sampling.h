// Draws next tokens from logits on the device (kernels/token_sampling.cu).
#pragma once

#include <cstdint>

#include "compute/device/device.h"
#include "model/operations/typed_kernels.h"

namespace assay {

/// How the token of one row of logits is drawn. The order is that of falling logits, equal ones in
/// the order of their tokens. Weights are exp((logit - largest) / temperature).
struct DrawnRow {
  double temperature = 1;
  double top_p = 1;    ///< of the allowed tokens, only the first that together have this share
  double min_p = 0;    ///< allows only tokens of at least this share of the largest weight
  double uniform = 0;  ///< in [0, 1): where in the sum of the remaining weights the token lies
  std::int64_t row = 0;
  std::int64_t top_k = 0;  ///< allows only the first ones, up to this number; 0: all
};

/// Makes a token less likely that a text has already: a positive logit is divided, a negative one
/// multiplied, and the amount is subtracted.
struct TokenPenalty {
  std::int32_t row = 0, token = 0;
  float divisor = 1, amount = 0;
  float logit = 0;  ///< what it was before, which penalize() writes
};

/// Only one stream may use it at a time, because both kernels of draw() share one buffer.
class TokenSampling {
 public:
  /// `type`: f32 or bf16, of logits; `most_rows`: that are drawn at once.
  static Result<TokenSampling> create(Device& device, DataType type, std::int64_t most_rows);

  /// Allocates what draw() needs, which the first draw() does otherwise. Error: exhausted.
  Status reserve();
  /// next[drawn[i].row], which is the row's most likely token, becomes the drawn one, for `count`
  /// DrawnRows in device memory. Logits are those of TokenRows::most_likely(). Error: unsupported,
  /// if the vocabulary is too large; usage, if there are too many rows; exhausted.
  Status draw(Stream& stream, void* next, const void* logits, const void* drawn, std::int64_t count,
              std::int64_t vocabulary, std::int64_t columns);

  /// Changes logits[rows, columns] by `count` TokenPenalties in device memory, of which no two name
  /// one token of a row.
  Status penalize(Stream& stream, void* logits, void* penalties, std::int64_t count,
                  std::int64_t columns);

 private:
  TokenSampling(Device& device, Kernels kernels, std::int64_t most_rows)
      : device_(&device), kernels_(std::move(kernels)), most_rows_(most_rows) {}

  Device* device_;
  Kernels kernels_;
  Kernel *sum_masses_ = nullptr, *draw_tokens_ = nullptr, *penalize_ = nullptr;
  std::int64_t most_rows_;
  Buffer sums_;  // of parts of rows; most decoders never draw
};

}  // namespace assay
