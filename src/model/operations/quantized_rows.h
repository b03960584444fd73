// Matrices as codes of one byte with a factor for each row, and back; products of such codes
// (kernels/quantize_rows.cu).
#pragma once

#include <cstdint>

#include "compute/device/device.h"
#include "model/operations/typed_kernels.h"

namespace assay {

class QuantizedRows {
 public:
  /// `type`: f32 or bf16, of the numbers; `codes`: e4m3, e4m3_fnuz or i8.
  static Result<QuantizedRows> create(Device& device, DataType type, DataType codes);

  /// For each row of x[rows, width]: factors[row] = its largest magnitude by that of a code, and
  /// codes = x by it, rounded to nearest. `width`: a multiple of 8.
  Status quantize(Stream& stream, void* codes, void* factors, const void* x, std::int64_t rows,
                  std::int64_t width);
  /// y = codes times the factors of their rows.
  Status dequantize(Stream& stream, void* y, const void* codes, const void* factors,
                    std::int64_t rows, std::int64_t width);
  /// y[rows, width] = y * row_factors[rows] * column_factors[width] + bias[width], of bf16; `bias`
  /// may be null. It makes a product of codes that of their numbers.
  Status scale_product(Stream& stream, void* y, const float* row_factors,
                       const float* column_factors, const void* bias, std::int64_t rows,
                       std::int64_t width);

 private:
  QuantizedRows(const DeviceFacts& facts, Kernels kernels)
      : facts_(&facts), kernels_(std::move(kernels)) {}

  const DeviceFacts* facts_;
  Kernels kernels_;
  Kernel *quantize_ = nullptr, *dequantize_ = nullptr, *scale_product_ = nullptr;
};

}  // namespace assay
