// Norms of the heads of queries and keys, and their rotation by their position (RoPE), in training.
#pragma once

#include "compute/device/device.h"
#include "core/result.h"
#include "model/operations/attention.h"
#include "model/operations/column_sums.h"
#include "model/operations/typed_kernels.h"

namespace assay {

/// Cosines, then sines, of half the width each, for every position: [positions, 2 frequencies].
/// `frequencies`: rotations per position, in radians, of each pair of a head's elements.
std::vector<float> rotary_angles(const std::vector<double>& frequencies, std::int64_t positions);

class HeadRotation {
 public:
  /// The weights of the norms of query heads and of key heads, [head width]; null: no norms.
  struct Norms {
    const void *query = nullptr, *key = nullptr;
  };
  /// Null: not wanted.
  struct NormGradients {
    void *query = nullptr, *key = nullptr;
  };

  /// Positions begin anew in every sequence, and in every document of one. Error: unsupported, for
  /// heads wider than 256.
  static Result<HeadRotation> create(Device& device, Stream& stream, DataType type,
                                     const std::vector<double>& frequencies, std::int64_t sequence,
                                     double epsilon);

  /// y = qkv[tokens, heads + 2 kv_heads, head width] with queries and keys normed and rotated.
  Status forward(Stream& stream, void* y, const void* qkv, const Norms& norms,
                 const AttentionShape& shape);
  /// d_qkv, the gradient of y, becomes that of qkv. The norms' gradients are added to what is there
  /// if `add`. `scratch` has scratch_bytes().
  Status backward(Stream& stream, ColumnSums& sums, void* d_qkv, const NormGradients& gradients,
                  const void* qkv, const Norms& norms, void* scratch, const AttentionShape& shape,
                  bool add);
  static std::uint64_t scratch_bytes(const AttentionShape& shape);
  std::uint64_t allocated_bytes() const { return angles_.bytes(); }

 private:
  HeadRotation(const DeviceFacts& facts, Kernels kernels, double epsilon)
      : facts_(&facts), kernels_(std::move(kernels)), epsilon_(static_cast<float>(epsilon)) {}

  const DeviceFacts* facts_;
  Kernels kernels_;
  float epsilon_;
  Buffer angles_;
  Kernel *forward_ = nullptr, *backward_ = nullptr;
};

}  // namespace assay
