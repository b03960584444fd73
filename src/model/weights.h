// The weights of a model: how they begin, and how they come from and go to the host.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "compute/device/device.h"
#include "core/data_type.h"
#include "core/result.h"
#include "model/tensor_layout.h"

namespace assay {

/// Writes initial weights into an arena that is 0 before; the same bits on every device.
class InitialWeights {
 public:
  /// `device`, `stream` and the arena, of elements of `type`, must outlive it.
  static Result<InitialWeights> create(Device& device, Stream& stream, void* arena, DataType type,
                                       std::uint64_t seed);

  /// The first `rows` rows of a tensor, or all, normally distributed around 0.
  Status normal(const Tensor& tensor, double deviation) {
    return normal(tensor, tensor.rows, deviation);
  }
  Status normal(const Tensor& tensor, std::int64_t rows, double deviation);
  Status ones(const Tensor& tensor);

 private:
  InitialWeights(Device& device, Stream& stream, std::unique_ptr<Program> program, void* arena,
                 DataType type, std::uint64_t seed)
      : device_(&device),
        stream_(&stream),
        program_(std::move(program)),
        arena_(arena),
        type_(type),
        seed_(seed) {}

  Device* device_;
  Stream* stream_;
  std::unique_ptr<Program> program_;
  void* arena_;
  DataType type_;
  std::uint64_t seed_;
};

/// `weights` as elements of `type` (f32 or bf16, rounded to nearest).
Status write_weights(Stream& stream, void* arena, DataType type, const std::vector<float>& weights);
Result<std::vector<float>> read_weights(Stream& stream, const void* arena, DataType type,
                                        std::size_t count);

}  // namespace assay
