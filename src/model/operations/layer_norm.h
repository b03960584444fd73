// Layer norm, joined with the residual addition before it.
#pragma once

#include "compute/device/device.h"
#include "model/operations/kernels.h"

namespace assay {

/// Rows of `width` elements.
struct Rows {
  std::int64_t rows = 0, width = 0;
};

class LayerNorm {
 public:
  static Result<LayerNorm> create(Device& device, DataType type);
  /// Error: unsupported if rows of `width` elements are too wide for a block.
  static Status validate(std::int64_t width);

  /// sum = stream + branch; normed = its norm. Without a branch (null) the norm of stream, and sum
  /// is not used. statistics: f32 [rows, 2], for backward().
  Status forward(Stream& on, void* normed, void* statistics, void* sum, const void* stream,
                 const void* branch, const void* weight, const void* bias, Rows rows);

  struct Gradients {
    void* input;   ///< of the norm's input x; added to what is there if `add_input`
    void* weight;  ///< both added to what is there if `add_parameters`
    void* bias;
    bool add_input, add_parameters;
  };
  /// `scratch`: f32 [norm_stripes(), 2, width].
  Status backward(Stream& on, const Gradients& gradients, const void* dy, const void* x,
                  const void* statistics, const void* weight, void* scratch, Rows rows);

  /// result[width] = the sum of x over its rows, added to what is there if `add`: the gradient of a
  /// bias. `scratch`: f32 [column_stripes, width].
  Status column_sums(Stream& on, void* result, const void* x, void* scratch, Rows rows, bool add);

 private:
  LayerNorm(const DeviceFacts& facts, Kernels kernels)
      : facts_(&facts), kernels_(std::move(kernels)) {}
  /// Blocks whose threads hold a row.
  LaunchShape shape(std::uint64_t blocks, std::int64_t width) const;
  /// Sums of partial[stripes, columns]: `width` columns to `first` and, unless it is null, as many
  /// to `second`.
  Status add_stripes(Stream& on, void* first, void* second, const void* partial, std::int64_t width,
                     std::uint64_t stripes, bool add);

  const DeviceFacts* facts_;
  Kernels kernels_;
  Kernel *add_norm_ = nullptr, *norm_backward_ = nullptr, *column_stripes_ = nullptr,
         *add_stripes_ = nullptr;
};

}  // namespace assay
