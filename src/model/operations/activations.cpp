#include "model/operations/activations.h"

#include <string>

namespace assay {

Result<Activations> Activations::create(Device& device, DataType type,
                                        std::optional<DataType> codes) {
  Activations made(device.facts(), TRY(Kernels::build(device, "activations", type)));
  made.gelu_ = TRY(made.kernels_.of_type("gelu"));
  made.gelu_backward_ = TRY(made.kernels_.of_type("gelu_backward"));
  made.relu_ = TRY(made.kernels_.of_type("relu"));
  made.relu_backward_ = TRY(made.kernels_.of_type("relu_backward"));
  made.add_bias_ = TRY(made.kernels_.of_type("add_bias"));
  made.swiglu_ = TRY(made.kernels_.of_type("swiglu"));
  made.swiglu_backward_ = TRY(made.kernels_.of_type("swiglu_backward"));
  if (codes) {
    made.swiglu_codes_ = TRY(made.kernels_.of_type("swiglu_" + std::string(name_of(*codes))));
  }
  return made;
}

Status Activations::gelu(Stream& stream, void* y, const void* x, std::int64_t elements) {
  return launch(stream, *gelu_, shape_of_elements(*facts_, elements), y, x,
                std::uint64_t(elements));
}

Status Activations::gelu_backward(Stream& stream, void* d, const void* x, std::int64_t elements) {
  return launch(stream, *gelu_backward_, shape_of_elements(*facts_, elements), d, x,
                std::uint64_t(elements));
}

Status Activations::relu(Stream& stream, void* x, std::int64_t elements) {
  return launch(stream, *relu_, shape_of_elements(*facts_, elements), x, std::uint64_t(elements));
}

Status Activations::relu_backward(Stream& stream, void* d, const void* y, std::int64_t elements) {
  return launch(stream, *relu_backward_, shape_of_elements(*facts_, elements), d, y,
                std::uint64_t(elements));
}

Status Activations::swiglu(Stream& stream, void* y, const void* x, std::int64_t rows,
                           std::int64_t width, void* scale) {
  return launch(stream, *swiglu_, shape_of_elements(*facts_, rows * width), y, x,
                std::uint64_t(rows), std::uint64_t(width), scale);
}

Status Activations::swiglu_codes(Stream& stream, CodedRows to, const void* x, std::int64_t rows,
                                 std::int64_t width) {
  constexpr std::int64_t threads = 512;  // a decoder's rows are few and long
  return launch(stream, *swiglu_codes_, shape_of_rows(*facts_, rows, width, threads),
                {.programmatic = true}, to.codes, to.factors, x, std::uint64_t(rows),
                std::uint64_t(width));
}

Status Activations::swiglu_backward(Stream& stream, void* d, const void* dy, const void* x,
                                    std::int64_t rows, std::int64_t width, void* scale) {
  return launch(stream, *swiglu_backward_, shape_of_elements(*facts_, rows * width), d, dy, x,
                std::uint64_t(rows), std::uint64_t(width), scale);
}

Status Activations::add_bias(Stream& stream, void* x, const void* bias, std::int64_t rows,
                             std::int64_t width) {
  return launch(stream, *add_bias_, shape_of_elements(*facts_, rows * width), x, bias,
                std::uint64_t(rows), std::uint64_t(width));
}

}  // namespace assay
