// The weights of a model: how they begin, and how they come from and go to the host.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "compute/device/device.h"
#include "core/data_type.h"
#include "core/result.h"
#include "model/tensors/tensor_layout.h"

namespace assay {

/// Writes initial weights into memory that is 0 before; the same bits on every device. Tensors are
/// those of the layout of one that trains alone: where they lie there chooses the random numbers,
/// which so are the same on any number of ranks.
class InitialWeights {
 public:
  /// `type`: of the weights. `device` and `stream` must outlive it.
  static Result<InitialWeights> create(Device& device, Stream& stream, DataType type,
                                       std::uint64_t seed);

  /// The first `rows` rows of a tensor at `address`, or all, normally distributed around 0.
  Status normal(void* address, const Tensor& tensor, double deviation) {
    return normal(address, tensor, tensor.rows, deviation);
  }
  Status normal(void* address, const Tensor& tensor, std::int64_t rows, double deviation);
  /// Writes the part of a tensor that is as large as `own`; `first` is the number of its first
  /// element in the whole.
  Status normal_part(void* address, const Tensor& own, const Tensor& whole, std::size_t first,
                     double deviation);
  Status ones(void* address, const Tensor& tensor);

 private:
  InitialWeights(Device& device, Stream& stream, std::unique_ptr<Program> program, DataType type,
                 std::uint64_t seed)
      : device_(&device),
        stream_(&stream),
        program_(std::move(program)),
        type_(type),
        seed_(seed) {}

  Device* device_;
  Stream* stream_;
  std::unique_ptr<Program> program_;
  DataType type_;
  std::uint64_t seed_;
};

/// `weights` as elements of `type` (f32, or bf16 or f16, rounded to nearest).
Status write_weights(Stream& stream, void* arena, DataType type, const std::vector<float>& weights);
Result<std::vector<float>> read_weights(Stream& stream, const void* arena, DataType type,
                                        std::size_t count);

}  // namespace assay
