// The product of a few rows with a matrix on matrix units, which reads the matrix once
// (kernels/skinny_product.cu). Codes of a quantized one are unpacked in registers: a matrix library
// wants numbers, which would have to be written to memory and read again for each product.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "compute/device/device.h"
#include "model/operations/linear_products.h"
#include "model/operations/stored_matrix.h"
#include "model/operations/typed_kernels.h"

namespace assay {

/// How the kernel is built and launched. It changes no bit of the results; the fastest variant is a
/// trade as with VectorVariant.
struct SkinnyVariant {
  int ahead = 2;   ///< loads of a lane in flight ahead of its products
  int blocks = 1;  ///< blocks that a multiprocessor has registers for, all of which are launched

  /// Returns the choice as text: "2 ahead, 1 block".
  std::string name() const;
};

class SkinnyProduct {
 public:
  static constexpr std::int64_t most_rows = 64;
  static constexpr std::int64_t together = 16;  ///< inputs that are read together
  /// How many rows a kernel for `rows` has room for.
  static constexpr std::int64_t room_for(std::int64_t rows) {
    return rows <= 16 ? 16 : rows <= 32 ? 32 : most_rows;
  }
  /// The variants worth trying on a GPU, the default first.
  static std::span<const SkinnyVariant> variants();

  /// Creates the GEMM of at most `rows` rows in bf16, with matrices of bf16 or of `codes`: e4m3,
  /// e4m3_fnuz or i8.
  static Result<SkinnyProduct> create(Device& device, std::int64_t rows,
                                      std::optional<DataType> codes = std::nullopt,
                                      SkinnyVariant variant = {});
  const SkinnyVariant& variant() const { return variant_; }

  /// y = x W^T + bias; `bias`[outputs] may be null. `inputs` is a multiple of 16. The bits of a row
  /// depend on no other row. Error: failed, if there are more rows than the kernel has room for, or
  /// other inputs.
  Status forward(Stream& stream, void* y, const void* x, StoredMatrix weight, const void* bias,
                 LinearShape shape) {
    return enqueue(stream, y, x, weight, bias, shape, false);
  }
  /// y = silu(x W1^T) * (x W2^T), where W1 and W2, each of `shape`, follow each other.
  Status forward_swiglu(Stream& stream, void* y, const void* x, StoredMatrix weight,
                        LinearShape shape) {
    return enqueue(stream, y, x, weight, nullptr, shape, true);
  }

 private:
  SkinnyProduct(const DeviceFacts& facts, Kernels kernels, SkinnyVariant variant, std::int64_t room)
      : facts_(&facts), kernels_(std::move(kernels)), variant_(variant), room_(room) {}
  Status enqueue(Stream& stream, void* y, const void* x, StoredMatrix weight, const void* bias,
                 LinearShape shape, bool swiglu);

  const DeviceFacts* facts_;
  Kernels kernels_;
  SkinnyVariant variant_;
  std::int64_t room_;
  Kernel* kernel_ = nullptr;
};

}  // namespace assay
