// The loss of predicted tokens and its gradient.
#pragma once

#include "compute/device/device.h"
#include "model/data/token_batches.h"
#include "model/operations/typed_kernels.h"

namespace assay {

class CrossEntropy {
 public:
  static Result<CrossEntropy> create(Device& device, DataType type);

  /// Replaces logits[rows, columns], of which `vocabulary` columns are real, by the gradients of
  /// the mean loss over all targets of a step's passes that count. The rows are those of a batch
  /// from `first` on. losses: f32 [tokens], of which theirs are written; 0 where a target is
  /// ignored.
  Status forward_backward(Stream& stream, void* logits, void* losses, const DeviceBatches& data,
                          BatchChoice choice, std::int64_t first, std::int64_t rows,
                          std::int64_t vocabulary, std::int64_t columns);

 private:
  CrossEntropy(const DeviceFacts& facts, Kernels kernels)
      : facts_(&facts), kernels_(std::move(kernels)) {}

  const DeviceFacts* facts_;
  Kernels kernels_;
  Kernel* cross_entropy_ = nullptr;
};

}  // namespace assay
