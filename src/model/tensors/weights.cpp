#include "model/tensors/weights.h"

#include "compute/device/helpers.h"
#include "compute/kernels/element_types.h"
#include "compute/vendor/blas/matrix_fill.h"

namespace assay {
namespace {

template <typename T>
Status write_narrow(Stream& stream, void* arena, const std::vector<float>& weights) {
  std::vector<T> rounded;
  rounded.reserve(weights.size());
  for (const float x : weights) rounded.push_back(T::encode(x));
  TRY(stream.copy(arena, rounded.data(), rounded.size() * sizeof(T)));
  return stream.synchronize();
}

template <typename T>
Result<std::vector<float>> read_narrow(Stream& stream, const void* arena, std::size_t count) {
  std::vector<float> weights;
  weights.reserve(count);
  for (const T x : TRY(read_back<T>(stream, arena, count))) weights.push_back(x.decode());
  return weights;
}

}  // namespace

Result<InitialWeights> InitialWeights::create(Device& device, Stream& stream, DataType type,
                                              std::uint64_t seed) {
  auto program = TRY(device.build({"matrix", {}}));
  return InitialWeights(device, stream, std::move(program), type, seed);
}

Status InitialWeights::normal(void* address, const Tensor& tensor, std::int64_t rows,
                              double deviation) {
  return fill_matrix(*stream_, device_->facts(), *program_, address, type_,
                     {rows, tensor.columns, tensor.columns}, Inputs::normal, seed_ + tensor.offset,
                     deviation);
}

Status InitialWeights::normal_part(void* address, const Tensor& own, const Tensor& whole,
                                   std::size_t first, double deviation) {
  return fill_matrix(*stream_, device_->facts(), *program_, address, type_,
                     {own.rows, own.columns, own.columns}, Inputs::normal, seed_ + whole.offset,
                     deviation, PartOfMatrix{first, static_cast<std::uint64_t>(whole.columns)});
}

Status InitialWeights::ones(void* address, const Tensor& tensor) {
  return fill_matrix(*stream_, device_->facts(), *program_, address, type_,
                     {tensor.rows, tensor.columns, tensor.columns}, Inputs::ones, seed_);
}

Status write_weights(Stream& stream, void* arena, DataType type,
                     const std::vector<float>& weights) {
  if (type == DataType::bf16) return write_narrow<Bf16>(stream, arena, weights);
  if (type == DataType::f16) return write_narrow<F16>(stream, arena, weights);
  TRY(stream.copy(arena, weights.data(), weights.size() * sizeof(float)));
  return stream.synchronize();
}

Result<std::vector<float>> read_weights(Stream& stream, const void* arena, DataType type,
                                        std::size_t count) {
  if (type == DataType::bf16) return read_narrow<Bf16>(stream, arena, count);
  if (type == DataType::f16) return read_narrow<F16>(stream, arena, count);
  return read_back<float>(stream, arena, count);
}

}  // namespace assay
