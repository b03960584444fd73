// Layer norm, joined with the residual addition before it.
#pragma once

#include "compute/device/device.h"
#include "model/operations/column_sums.h"
#include "model/operations/typed_kernels.h"

namespace assay {

/// Stripes of sums over rows where one block has a stripe's whole rows.
std::uint64_t norm_stripes(std::int64_t rows, std::int64_t width);

class LayerNorm {
 public:
  /// `sums` must outlive it.
  static Result<LayerNorm> create(Device& device, DataType type, ColumnSums& sums);
  /// sum = stream + branch; normed = its norm. Without a branch (null) the norm of stream, and sum
  /// is not used. statistics: f32 [rows, 2], for backward().
  Status forward(Stream& on, void* normed, void* statistics, void* sum, const void* stream,
                 const void* branch, const void* weight, const void* bias, Rows rows);

  struct Gradients {
    void* input;   ///< of the norm's input x; added to what is there if `add_input`
    void* weight;  ///< these three are added to what is there if `add_parameters`
    void* bias;
    /// The column sums of `input` as it is then, or null: the gradient of a bias in the layer
    /// whose output was added to the stream last.
    void* bias_before;
    bool add_input, add_parameters;
  };
  /// `scratch`: f32 [norm_stripes(), 3, width].
  Status backward(Stream& on, const Gradients& gradients, const void* dy, const void* x,
                  const void* statistics, const void* weight, void* scratch, Rows rows);

 private:
  LayerNorm(const DeviceFacts& facts, ColumnSums& sums, Kernels kernels)
      : facts_(&facts), sums_(&sums), kernels_(std::move(kernels)) {}

  const DeviceFacts* facts_;
  ColumnSums* sums_;
  Kernels kernels_;
  Kernel *add_norm_ = nullptr, *norm_backward_ = nullptr;
};

}  // namespace assay
