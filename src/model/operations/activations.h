// Elementwise functions between GEMMs: GELU (tanh), ReLU, SwiGLU, their gradients, and biases.
#pragma once

#include <optional>

#include "compute/device/device.h"
#include "model/operations/stored_matrix.h"
#include "model/operations/typed_kernels.h"

namespace assay {

class Activations {
 public:
  /// `codes`: e4m3 or e4m3_fnuz, for swiglu_codes() of bf16.
  static Result<Activations> create(Device& device, DataType type,
                                    std::optional<DataType> codes = std::nullopt);

  /// y = gelu(x)
  Status gelu(Stream& stream, void* y, const void* x, std::int64_t elements);
  /// d *= gelu'(x)
  Status gelu_backward(Stream& stream, void* d, const void* x, std::int64_t elements);
  /// x = max(x, 0)
  Status relu(Stream& stream, void* x, std::int64_t elements);
  /// d = 0 where y, the result of relu(), is 0.
  Status relu_backward(Stream& stream, void* d, const void* y, std::int64_t elements);
  /// y[rows, width] = silu(first half of each row of x[rows, 2 width]) times the second. Unless
  /// null, `scale`, as in fp8_linear.h, is raised to the largest magnitude of y.
  Status swiglu(Stream& stream, void* y, const void* x, std::int64_t rows, std::int64_t width,
                void* scale = nullptr);
  /// Does that and leaves codes instead of y.
  Status swiglu_codes(Stream& stream, CodedRows to, const void* x, std::int64_t rows,
                      std::int64_t width);
  /// d[rows, 2 width] = the gradient of x from dy, that of y; `scale`: of d.
  Status swiglu_backward(Stream& stream, void* d, const void* dy, const void* x, std::int64_t rows,
                         std::int64_t width, void* scale = nullptr);
  /// x[rows, width] += bias[width]
  Status add_bias(Stream& stream, void* x, const void* bias, std::int64_t rows, std::int64_t width);

 private:
  Activations(const DeviceFacts& facts, Kernels kernels)
      : facts_(&facts), kernels_(std::move(kernels)) {}

  const DeviceFacts* facts_;
  Kernels kernels_;
  Kernel *gelu_ = nullptr, *gelu_backward_ = nullptr, *relu_ = nullptr, *relu_backward_ = nullptr,
         *add_bias_ = nullptr, *swiglu_ = nullptr, *swiglu_codes_ = nullptr,
         *swiglu_backward_ = nullptr;
};

}  // namespace assay
