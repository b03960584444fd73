#include "model/operations/vector_product.h"

#include <fmt/format.h>

#include <algorithm>

#include "compute/device/helpers.h"

namespace assay {

std::string VectorVariant::name() const {
  return fmt::format("{} ahead, {} of {} blocks", ahead, launched, fitting);
}

std::span<const VectorVariant> VectorProduct::variants() {
  // Registers of sm_90: a load takes four for each of two rows, everything else about fifty.
  static constexpr VectorVariant all[] = {{4, 3, 3}, {4, 3, 2}, {8, 2, 2},
                                          {8, 2, 1}, {2, 4, 4}, {2, 4, 3}};
  return all;
}

Result<VectorProduct> VectorProduct::create(Device& device, DataType type, double norm_epsilon,
                                            std::optional<DataType> codes, VectorVariant variant) {
  const std::string code = codes ? std::string(name_of(*codes)) : "";
  VectorProduct made(device.facts(),
                     TRY(Kernels::build(device, "vector_product", type,
                                        {{"VECTOR_AHEAD", std::to_string(variant.ahead)},
                                         {"VECTOR_BLOCKS", std::to_string(variant.fitting)},
                                         {"VECTOR_ONE", "1"},
                                         {"VECTOR_OF_" + (codes ? code : "numbers"), "1"}})),
                     type, norm_epsilon, variant);
  made.kernel_ = TRY(made.kernels_.of_type("vector_product" + (codes ? "_" + code : "")));
  return made;
}

Status VectorProduct::forward(Stream& stream, void* y, const void* x, StoredMatrix weight,
                              Shape shape, const Around& around) {
  return enqueue(stream, y, x, weight, shape, around, false);
}

Status VectorProduct::forward_swiglu(Stream& stream, void* y, const void* x, StoredMatrix weight,
                                     Shape shape, const void* norm) {
  return enqueue(stream, y, x, weight, shape, {.norm = norm}, true);
}

Status VectorProduct::enqueue(Stream& stream, void* y, const void* x, StoredMatrix weight,
                              Shape shape, const Around& around, bool swiglu) {
  // In kernels/vector_product.cu a wave computes two outputs at a time.
  constexpr unsigned threads = 256;
  const std::int64_t resident = facts_->runs_on_host ? 1 : variant_.launched;
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
  return launch(stream, *kernel_, blocks_and_threads, attributes, y, x, weight.elements,
                weight.factors, around.norm, around.bias, outputs, inputs, norm_epsilon_, add,
                joined);
}

}  // namespace assay
