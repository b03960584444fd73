// Layer norm and RMS norm, joined with the residual addition before them and with the quantization
// after them.
#pragma once

#include <optional>

#include "compute/device/device.h"
#include "model/operations/column_sums.h"
#include "model/operations/stored_matrix.h"
#include "model/operations/typed_kernels.h"

namespace assay {

/// How many stripes of rows norms sum over; one block has a stripe's whole rows.
std::uint64_t norm_stripes(std::int64_t rows, std::int64_t width);

class Norm {
 public:
  /// (x - mean) / deviation * weight + bias, with epsilon 1e-5.
  static Result<Norm> layer(Device& device, DataType type);
  /// x / root mean square * weight; `codes`: e4m3 or e4m3_fnuz, for forward_codes() of bf16.
  static Result<Norm> rms(Device& device, DataType type, double epsilon,
                          std::optional<DataType> codes = std::nullopt);

  /// sum = stream + branch; normed = its norm, row by row. `sum` may be `stream`. Without a branch
  /// (null) it norms stream, and `sum` is not written. An RMS norm has no bias (null).
  /// `statistics`: f32 [rows, 2], for backward(); an RMS norm that has none takes null.
  Status forward(Stream& on, void* normed, void* statistics, void* sum, const void* stream,
                 const void* branch, const void* weight, const void* bias, Rows rows);

  /// Does that for an RMS norm, which becomes codes instead of `normed`.
  Status forward_codes(Stream& on, CodedRows to, void* sum, const void* stream, const void* branch,
                       const void* weight, Rows rows);

  struct Gradients {
    void* input;   ///< gradient of the norm's input x, added to what is there if `add_input`
    void* weight;  ///< these three are added to what is there if `add_parameters`, unless null
    void* bias;
    /// The column sums of `input` as it is then: the gradient of a bias in the layer whose output
    /// was added to the stream last.
    void* bias_before;
    bool add_input, add_parameters;
  };
  /// `scratch`: f32 [norm_stripes(), 3, width].
  Status backward(Stream& on, ColumnSums& sums, const Gradients& gradients, const void* dy,
                  const void* x, const void* statistics, const void* weight, void* scratch,
                  Rows rows);

 private:
  Norm(const DeviceFacts& facts, Kernels kernels, bool centred, double epsilon)
      : facts_(&facts),
        kernels_(std::move(kernels)),
        centred_(centred),
        epsilon_(static_cast<float>(epsilon)) {}
  static Result<Norm> create(Device& device, DataType type, bool centred, double epsilon);

  const DeviceFacts* facts_;
  Kernels kernels_;
  bool centred_;  // layer norm
  float epsilon_;
  Kernel *forward_ = nullptr, *forward_codes_ = nullptr, *backward_ = nullptr;
};

}  // namespace assay
