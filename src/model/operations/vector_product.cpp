#include "model/operations/vector_product.h"

#include <algorithm>

#include "compute/device/helpers.h"

namespace assay {

Result<VectorProduct> VectorProduct::create(Device& device, DataType type, double norm_epsilon,
                                            std::optional<DataType> codes) {
  VectorProduct made(device.facts(), TRY(Kernels::build(device, "vector_product", type)), type,
                     norm_epsilon);
  made.vector_product_ = TRY(made.kernels_.of_type("vector_product"));
  if (!codes) return made;
  made.quantized_kernels_ = TRY(Kernels::build(device, "quantized_product", type));
  made.quantized_product_ =
      TRY(made.quantized_kernels_->of_type("quantized_product_" + std::string(name_of(*codes))));
  return made;
}

Status VectorProduct::forward(Stream& stream, void* y, const void* x, Matrix weight, Shape shape,
                              const Around& around) {
  return enqueue(stream, y, x, weight, shape, around, false);
}

Status VectorProduct::forward_swiglu(Stream& stream, void* y, const void* x, Matrix weight,
                                     Shape shape, const void* norm) {
  return enqueue(stream, y, x, weight, shape, {.norm = norm}, true);
}

Status VectorProduct::enqueue(Stream& stream, void* y, const void* x, Matrix weight, Shape shape,
                              const Around& around, bool swiglu) {
  // As in kernels/vector_product.cu: a wave computes two outputs at a time.
  constexpr unsigned threads = 256;
  const std::int64_t resident = runs_on_host(*facts_) ? 1 : 3;  // of a multiprocessor
  const std::int64_t results = swiglu ? shape.outputs : (shape.outputs + 1) / 2;
  const std::int64_t waves = std::max(1, static_cast<int>(threads) / facts_->wave_size);
  const std::int64_t blocks =
      std::min((results + waves - 1) / waves, facts_->multiprocessors * resident);
  const std::int64_t normed_bytes = around.norm != nullptr ? shape.inputs * element_ : 0;
  const LaunchShape blocks_and_threads = {
      {static_cast<unsigned>(blocks)}, {threads}, static_cast<unsigned>(normed_bytes)};
  const LaunchAttributes attributes = {.programmatic = true};
  const std::uint64_t outputs = std::uint64_t(shape.outputs), inputs = std::uint64_t(shape.inputs);
  const int add = around.add ? 1 : 0, joined = swiglu ? 1 : 0;
  if (weight.factors == nullptr) {
    return launch(stream, *vector_product_, blocks_and_threads, attributes, y, x, weight.elements,
                  around.norm, around.bias, outputs, inputs, norm_epsilon_, add, joined);
  }
  return launch(stream, *quantized_product_, blocks_and_threads, attributes, y, x, weight.elements,
                weight.factors, around.norm, around.bias, outputs, inputs, norm_epsilon_, add,
                joined);
}

}  // namespace assay
