// Token and position embeddings and their gradients.
#pragma once

#include "compute/device/device.h"
#include "model/data/token_batches.h"
#include "model/operations/typed_kernels.h"

namespace assay {

class Embedding {
 public:
  static Result<Embedding> create(Device& device, DataType type);

  /// x[batch * sequence, width] = embedding of each token + that of its position, unless
  /// `positions` is null.
  Status forward(Stream& stream, void* x, const void* embedding, const void* positions,
                 const DeviceBatches& data, BatchChoice choice, std::int64_t sequence,
                 std::int64_t width);
  /// starts[tokens] = where the document of each token of the batch begins in its sequence.
  Status document_starts(Stream& stream, std::int32_t* starts, const DeviceBatches& data,
                         BatchChoice choice);
  /// Adds dx to the rows of `d_embedding`. Unless it is null, `d_positions` becomes the sum of dx
  /// over the batch, added to what is there if `add`.
  Status backward(Stream& stream, void* d_embedding, void* d_positions, const void* dx,
                  const DeviceBatches& data, BatchChoice choice, std::int64_t sequence,
                  std::int64_t width, bool add);

 private:
  Embedding(const DeviceFacts& facts, Kernels kernels)
      : facts_(&facts), kernels_(std::move(kernels)) {}

  const DeviceFacts* facts_;
  Kernels kernels_;
  Kernel* embed_ = nullptr;
  Kernel* embedding_gradient_ = nullptr;
  Kernel* position_gradient_ = nullptr;
  Kernel* take_batch_ = nullptr;
};

}  // namespace assay
