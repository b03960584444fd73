// Sums over the rows of a matrix: gradients of biases, and the last step of other operations' sums.
#pragma once

#include <array>

#include "compute/device/device.h"
#include "model/operations/typed_kernels.h"

namespace assay {

/// Rows of `width` elements.
struct Rows {
  std::int64_t rows = 0, width = 0;
};

/// The number of stripes of rows whose sums are then added in order, so that results are the same
/// on every device. There are enough of them to keep a GPU busy once.
std::uint64_t column_stripes(std::int64_t rows, std::int64_t width);

class ColumnSums {
 public:
  static Result<ColumnSums> create(Device& device, DataType type);

  /// result[width] = the sum of x over its rows, added to what is there if `add`. `scratch`: f32
  /// [column_stripes(), width].
  Status of(Stream& on, void* result, const void* x, void* scratch, Rows rows, bool add);

  /// Each of the results [width], unless it is null, = the sum over the stripes of its part of
  /// `partial`: f32 [stripes, sums, width], where the first `sums` results are wanted.
  Status of_stripes(Stream& on, std::array<void*, 3> results, const void* partial, int sums,
                    std::int64_t width, std::uint64_t stripes, bool add);

 private:
  explicit ColumnSums(Kernels kernels) : kernels_(std::move(kernels)) {}

  Kernels kernels_;
  Kernel *column_stripes_ = nullptr, *add_stripes_ = nullptr;
};

}  // namespace assay
