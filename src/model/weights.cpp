#include "model/weights.h"

#include <bit>

#include "compute/blas/matrix_fill.h"
#include "compute/device/helpers.h"

namespace assay {
namespace {

/// f32 as bf16, rounded to nearest, ties to even; NaNs stay NaNs.
std::uint16_t bf16_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (x != x) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
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

Status InitialWeights::ones(void* address, const Tensor& tensor) {
  return fill_matrix(*stream_, device_->facts(), *program_, address, type_,
                     {tensor.rows, tensor.columns, tensor.columns}, Inputs::ones, seed_);
}

Status write_weights(Stream& stream, void* arena, DataType type,
                     const std::vector<float>& weights) {
  if (type != DataType::bf16) {
    TRY(stream.copy(arena, weights.data(), weights.size() * sizeof(float)));
    return stream.synchronize();
  }
  std::vector<std::uint16_t> rounded;
  rounded.reserve(weights.size());
  for (const float x : weights) rounded.push_back(bf16_of(x));
  TRY(stream.copy(arena, rounded.data(), rounded.size() * sizeof(std::uint16_t)));
  return stream.synchronize();
}

Result<std::vector<float>> read_weights(Stream& stream, const void* arena, DataType type,
                                        std::size_t count) {
  if (type != DataType::bf16) return read_back<float>(stream, arena, count);
  const auto rounded = TRY(read_back<std::uint16_t>(stream, arena, count));
  std::vector<float> weights;
  weights.reserve(count);
  for (const std::uint16_t x : rounded) {
    weights.push_back(std::bit_cast<float>(std::uint32_t{x} << 16));
  }
  return weights;
}

}  // namespace assay
