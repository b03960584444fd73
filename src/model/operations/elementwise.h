// Arrays as arrays: between the types of weights and their sums, added, and compared by a checksum.
#pragma once

#include "compute/device/device.h"
#include "model/operations/typed_kernels.h"

namespace assay {

class Elementwise {
 public:
  /// `type`: f32, bf16 or f16, of the arrays without another one.
  static Result<Elementwise> create(Device& device, DataType type);

  /// y = x; `elements` is a multiple of 8 in all of these. `x` is bf16 or f16.
  Status widen(Stream& stream, float* y, const void* x, std::size_t elements);
  /// y = x, rounded to nearest. `y` is bf16 or f16.
  Status narrow(Stream& stream, void* y, const float* x, std::size_t elements);
  /// y = x, rounded to nearest; `x` is of type `from`: f32, bf16 or f16. For arrays of f32 and
  /// bf16.
  Status convert(Stream& stream, void* y, const void* x, DataType from, std::size_t elements);
  /// y += x.
  Status add(Stream& stream, void* y, const void* x, std::size_t elements);
  /// sum += a hash of the array and of the place of each word in the whole, of which it begins with
  /// word `first`. `bytes`: a multiple of 4.
  Status checksum(Stream& stream, std::uint64_t* sum, const void* x, std::uint64_t bytes,
                  std::uint64_t first);

 private:
  Elementwise(const DeviceFacts& facts, Kernels kernels, DataType type)
      : facts_(&facts), kernels_(std::move(kernels)), type_(type) {}
  Status run(Stream& stream, const Kernel& kernel, void* y, const void* x, std::size_t elements);

  const DeviceFacts* facts_;
  Kernels kernels_;
  DataType type_;
  Kernel *add_ = nullptr, *checksum_ = nullptr;
  Kernel *widen_ = nullptr, *narrow_ = nullptr;        // of bf16 and f16
  Kernel *from_bf16_ = nullptr, *from_f16_ = nullptr;  // to this type, where convert() has them
};

}  // namespace assay
