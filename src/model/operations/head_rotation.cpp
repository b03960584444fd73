#include "model/operations/head_rotation.h"

#include <fmt/format.h>

#include <cmath>

#include "model/operations/norm.h"

namespace assay {
namespace {

constexpr std::int64_t widest_head = 256;  // as in kernels/head_rotation.cu

std::uint64_t token_stripes(const AttentionShape& shape) {
  return norm_stripes(shape.batch * shape.sequence, 2 * shape.head_width);
}

}  // namespace

std::vector<float> rotary_angles(const std::vector<double>& frequencies, std::int64_t positions) {
  std::vector<float> angles;
  for (std::int64_t position = 0; position < positions; ++position) {
    const auto angle = [&](double f) { return static_cast<double>(position) * f; };
    for (const double f : frequencies) angles.push_back(static_cast<float>(std::cos(angle(f))));
    for (const double f : frequencies) angles.push_back(static_cast<float>(std::sin(angle(f))));
  }
  return angles;
}

Result<HeadRotation> HeadRotation::create(Device& device, Stream& stream, DataType type,
                                          const std::vector<double>& frequencies,
                                          std::int64_t sequence, double epsilon) {
  const auto width = 2 * static_cast<std::int64_t>(frequencies.size());
  if (width > widest_head) {
    return Error{ErrorKind::unsupported,
                 fmt::format("heads {} wide are not rotated, at most {} are", width, widest_head)};
  }
  HeadRotation made(device.facts(), TRY(Kernels::build(device, "head_rotation", type)), epsilon);
  made.forward_ = TRY(made.kernels_.of_type("rotate_heads"));
  made.backward_ = TRY(made.kernels_.of_type("rotate_heads_backward"));
  const std::vector<float> angles = rotary_angles(frequencies, sequence);
  made.angles_ = TRY(device.allocate(angles.size() * sizeof(float), MemoryKind::device));
  TRY(stream.copy(made.angles_.data(), angles.data(), made.angles_.bytes()));
  TRY(stream.synchronize());
  return made;
}

Status HeadRotation::forward(Stream& stream, void* y, const void* qkv, const Norms& norms,
                             const AttentionShape& shape) {
  const std::int64_t tokens = shape.batch * shape.sequence, kv_heads = shape.heads_of_keys();
  // A block for each token.
  return launch(stream, *forward_, shape_of_elements(*facts_, tokens * block_threads * row_pack), y,
                qkv, norms.query, norms.key, angles_.data(), shape.document_starts,
                std::uint64_t(tokens), std::uint64_t(shape.sequence), std::uint64_t(shape.heads),
                std::uint64_t(kv_heads), std::uint64_t(shape.head_width), epsilon_);
}

Status HeadRotation::backward(Stream& stream, ColumnSums& sums, void* d_qkv,
                              const NormGradients& gradients, const void* qkv, const Norms& norms,
                              void* scratch, const AttentionShape& shape, bool add) {
  const std::int64_t tokens = shape.batch * shape.sequence;
  const std::uint64_t stripes = token_stripes(shape);
  void* const partial = gradients.query != nullptr ? scratch : nullptr;
  TRY(launch(stream, *backward_,
             {{static_cast<unsigned>(stripes)}, {facts_->runs_on_host ? 1 : block_threads}}, d_qkv,
             partial, qkv, norms.query, norms.key, angles_.data(), shape.document_starts,
             std::uint64_t(tokens), std::uint64_t(shape.sequence), std::uint64_t(shape.heads),
             std::uint64_t(shape.heads_of_keys()), std::uint64_t(shape.head_width), epsilon_));
  if (partial == nullptr) return {};
  return sums.of_stripes(stream, {gradients.query, gradients.key, nullptr}, partial, 2,
                         shape.head_width, stripes, add);
}

std::uint64_t HeadRotation::scratch_bytes(const AttentionShape& shape) {
  return token_stripes(shape) * 2 * static_cast<std::uint64_t>(shape.head_width) * sizeof(float);
}

}  // namespace assay
