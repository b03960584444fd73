// The mean loss of each step, kept on the device so that no step waits for the host.
#pragma once

#include <vector>

#include "compute/device/device.h"
#include "compute/kernels/step_state.h"
#include "model/operations/typed_kernels.h"

namespace assay {

class LossHistory {
 public:
  /// The number of steps that are remembered; later ones take the places of the first.
  static constexpr std::int64_t length = 1 << 16;

  static Result<LossHistory> create(Device& device);

  /// Adds to the mean of the step's passes what losses, f32 [rows], are of it; the `first` pass
  /// begins it.
  Status record(Stream& stream, const void* losses, BatchChoice choice, std::int64_t rows,
                bool first);
  /// The losses of the steps first ... first + count.
  Result<std::vector<float>> read(Stream& stream, std::uint64_t first, std::uint64_t count) const;
  std::uint64_t bytes() const { return history_.bytes(); }

 private:
  explicit LossHistory(Kernels kernels) : kernels_(std::move(kernels)) {}

  Kernels kernels_;
  Kernel* record_loss_ = nullptr;
  Buffer history_;  // f32 [length]
};

}  // namespace assay
