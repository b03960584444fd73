#include "model/gpt_weights.h"

#include <bit>
#include <cmath>

#include "compute/blas/matrix_fill.h"
#include "compute/device/helpers.h"
#include "model/gpt_layout.h"

namespace assay {
namespace {

/// f32 as bf16, rounded to nearest, ties to even; NaNs stay NaNs.
std::uint16_t bf16_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (x != x) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

}  // namespace

Status write_initial_weights(Device& device, Stream& stream, void* arena, DataType type,
                             const GptShape& shape, std::uint64_t seed) {
  constexpr double deviation = 0.02;
  const double into_stream = deviation / std::sqrt(2 * static_cast<double>(shape.layers));
  const GptParameters p = GptParameters::of(shape);
  const auto program = TRY(device.build({"matrix", {}}));
  const auto fill = [&](const Tensor& tensor, std::int64_t rows, Inputs inputs, double factor) {
    void* const address = static_cast<std::byte*>(arena) + tensor.offset * size_of(type);
    return fill_matrix(stream, device.facts(), *program, address, type,
                       {rows, tensor.columns, tensor.columns}, inputs, seed + tensor.offset,
                       factor);
  };
  const auto normal = [&](const Tensor& tensor, double factor) {
    return fill(tensor, tensor.rows, Inputs::normal, factor);
  };
  const auto ones = [&](const Tensor& tensor) { return fill(tensor, 1, Inputs::ones, 1); };
  TRY(fill(p.embedding, shape.vocabulary, Inputs::normal, deviation));
  TRY(normal(p.positions, deviation));
  for (const GptLayerParameters& layer : p.layers) {
    TRY(ones(layer.norm1_weight));
    TRY(normal(layer.qkv, deviation));
    TRY(normal(layer.proj, into_stream));
    TRY(ones(layer.norm2_weight));
    TRY(normal(layer.fc, deviation));
    TRY(normal(layer.fc2, into_stream));
  }
  TRY(ones(p.norm_weight));
  return stream.synchronize();
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
