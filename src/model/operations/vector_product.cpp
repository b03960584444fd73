#include "model/operations/vector_product.h"

#include <algorithm>

#include "compute/device/helpers.h"

namespace assay {

Result<VectorProduct> VectorProduct::create(Device& device, DataType type, double norm_epsilon) {
  VectorProduct made(device.facts(), TRY(Kernels::build(device, "vector_product", type)), type,
                     norm_epsilon);
  made.vector_product_ = TRY(made.kernels_.of_type("vector_product"));
  return made;
}

Status VectorProduct::forward(Stream& stream, void* y, const void* x, const void* weight,
                              Shape shape, const Around& around) {
  return enqueue(stream, y, x, weight, shape, around, false);
}

Status VectorProduct::forward_swiglu(Stream& stream, void* y, const void* x, const void* weight,
                                     Shape shape, const void* norm) {
  return enqueue(stream, y, x, weight, shape, {.norm = norm}, true);
}

Status VectorProduct::enqueue(Stream& stream, void* y, const void* x, const void* weight,
                              Shape shape, const Around& around, bool swiglu) {
  // As in kernels/vector_product.cu: a wave computes two outputs at a time.
  constexpr unsigned threads = 256;
  const std::int64_t resident = runs_on_host(*facts_) ? 1 : 3;  // of a multiprocessor
  const std::int64_t results = swiglu ? shape.outputs : (shape.outputs + 1) / 2;
  const std::int64_t waves = std::max(1, static_cast<int>(threads) / facts_->wave_size);
  const std::int64_t blocks =
      std::min((results + waves - 1) / waves, facts_->multiprocessors * resident);
  const std::int64_t normed_bytes = around.norm != nullptr ? shape.inputs * element_ : 0;
  return launch(stream, *vector_product_,
                {{static_cast<unsigned>(blocks)}, {threads}, static_cast<unsigned>(normed_bytes)},
                {.programmatic = true}, y, x, weight, around.norm, around.bias,
                std::uint64_t(shape.outputs), std::uint64_t(shape.inputs), norm_epsilon_,
                around.add ? 1 : 0, swiglu ? 1 : 0);
}

}  // namespace assay
