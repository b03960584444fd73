// The product of a few rows with a quantized matrix, whose codes are read once and unpacked in
// registers (kernels/skinny_product.cu). Matrix libraries want numbers, which would have to be
// written to memory and read again for each product.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "compute/device/device.h"
#include "model/operations/kernels.h"
#include "model/operations/linear_products.h"

namespace assay {

/// How the kernel is built and launched; it changes no bit of the results.
struct SkinnyVariant {
  int ahead = 2;   ///< times that a lane has read ahead of what it computes
  int blocks = 1;  ///< that a multiprocessor has registers for, and that are launched for it

  /// "2 ahead, 1 block"
  std::string name() const;
};

class SkinnyProduct {
 public:
  /// Rows of one launch. More are computed too, a launch for each so many.
  static constexpr std::int64_t most_rows = 64;

  /// Of bf16 with a matrix of `codes`: e4m3, e4m3_fnuz or i8. The usual variant depends on the rows
  /// and the codes; `variant` is taken for all. `device` must outlive it.
  SkinnyProduct(Device& device, DataType codes, std::optional<SkinnyVariant> variant = std::nullopt)
      : device_(&device), codes_(codes), variant_(variant) {}

  /// y = x W^T + bias, where W[outputs, inputs] is `codes` times `factors`[outputs] of its rows,
  /// and `bias`[outputs] may be null. `inputs` is a multiple of 16. The bits of a row depend on no
  /// other row. The first time for a number of rows it builds a kernel: not while a stream is
  /// captured.
  Status forward(Stream& stream, void* y, const void* x, const void* codes, const float* factors,
                 const void* bias, LinearShape shape);

 private:
  /// For as many rows.
  struct Built {
    SkinnyVariant variant;
    Kernels kernels;
    Kernel* kernel;
  };
  Result<Built*> built_for(std::int64_t rows);
  SkinnyVariant variant_for(std::int64_t rows) const;

  Device* device_;
  DataType codes_;
  std::optional<SkinnyVariant> variant_;
  std::map<std::int64_t, Built> built_;  // by the rows of a block
};

}  // namespace assay
