// Tokens into a model and out of it: rows of the embedding, and the most likely next tokens.
#pragma once

#include "compute/device/device.h"
#include "model/operations/typed_kernels.h"

namespace assay {

/// All indices, tokens and positions are i32 in device memory. Only one stream may use it at a
/// time, because blocks that share a row communicate through one buffer.
class TokenRows {
 public:
  static Result<TokenRows> create(Device& device, DataType type);

  /// Row i of y[count, width] = row indices[i] of x.
  Status gather(Stream& stream, void* y, const void* x, const void* indices, std::int64_t count,
                std::int64_t width);
  /// next[i] = the column with the largest of the first `vocabulary` logits of row i of
  /// logits[rows, columns], the first of equal ones.
  Status most_likely(Stream& stream, void* next, const void* logits, std::int64_t rows,
                     std::int64_t vocabulary, std::int64_t columns);
  /// tokens = next, and each position one more.
  Status advance(Stream& stream, void* tokens, void* positions, const void* next,
                 std::int64_t count);

 private:
  TokenRows(const DeviceFacts& facts, Kernels kernels)
      : facts_(&facts), kernels_(std::move(kernels)) {}

  const DeviceFacts* facts_;
  Kernels kernels_;
  Buffer arrived_, found_;  // of parts of rows
  Kernel *gather_rows_ = nullptr, *most_likely_ = nullptr, *advance_tokens_ = nullptr;
};

}  // namespace assay
