#include "model/gpt_weights.h"

#include <bit>
#include <cmath>

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

/// Queues filling tensors with normal numbers or ones.
class Initializer {
 public:
  Initializer(Device& device, Stream& stream, void* arena, DataType type, std::uint64_t seed,
              std::unique_ptr<Program> program, Kernel& fill)
      : facts_(device.facts()),
        stream_(stream),
        arena_(static_cast<std::byte*>(arena)),
        element_(size_of(type)),
        seed_(seed),
        program_(std::move(program)),
        fill_(fill) {}

  Status normal(const Tensor& tensor, std::int64_t rows, double deviation) {
    constexpr int pattern_normal = 3;  // of kernels/matrix.cu
    return fill(tensor, rows, pattern_normal, deviation);
  }
  Status ones(const Tensor& tensor) {
    constexpr int pattern_ones = 1;
    return fill(tensor, tensor.rows, pattern_ones, 1);
  }

 private:
  Status fill(const Tensor& tensor, std::int64_t rows, int pattern, double scale) {
    void* const address = arena_ + tensor.offset * element_;
    return launch(stream_, fill_, filling_shape(facts_), address, std::uint64_t(rows),
                  std::uint64_t(tensor.columns), std::uint64_t(tensor.columns),
                  seed_ + tensor.offset, pattern, static_cast<float>(scale));
  }

  const DeviceFacts& facts_;
  Stream& stream_;
  std::byte* arena_;
  std::size_t element_;
  std::uint64_t seed_;
  std::unique_ptr<Program> program_;
  Kernel& fill_;
};

}  // namespace

Status write_initial_weights(Device& device, Stream& stream, void* arena, DataType type,
                             const GptShape& shape, std::uint64_t seed) {
  constexpr double deviation = 0.02;
  const double into_stream = deviation / std::sqrt(2 * static_cast<double>(shape.layers));
  const GptParameters p = GptParameters::of(shape);
  auto program = TRY(device.build({"matrix", {}}));
  Kernel* kernel = TRY(program->kernel(type == DataType::bf16 ? "fill_bf16" : "fill_f32"));
  Initializer write(device, stream, arena, type, seed, std::move(program), *kernel);
  TRY(write.normal(p.embedding, shape.vocabulary, deviation));
  TRY(write.normal(p.positions, p.positions.rows, deviation));
  for (const GptLayerParameters& layer : p.layers) {
    TRY(write.ones(layer.norm1_weight));
    TRY(write.normal(layer.qkv, layer.qkv.rows, deviation));
    TRY(write.normal(layer.proj, layer.proj.rows, into_stream));
    TRY(write.ones(layer.norm2_weight));
    TRY(write.normal(layer.fc, layer.fc.rows, deviation));
    TRY(write.normal(layer.fc2, layer.fc2.rows, into_stream));
  }
  TRY(write.ones(p.norm_weight));
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
