// Attention by matrix products, one sequence at a time, and a softmax between them.
#include <cmath>

#include "model/operations/attention.h"

namespace assay {
namespace {

/// Where one factor of a product lies: the matrices of all heads of one sequence.
struct Heads {
  std::int64_t ld = 0, stride = 0;
};

GemmProblem product(std::int64_t m, std::int64_t n, std::int64_t k, DataType in, DataType out,
                    std::int64_t heads, Heads a, bool transpose_a, Heads b, bool transpose_b,
                    Heads d) {
  GemmProblem problem = make_gemm(m, n, k, in, out, transpose_a, transpose_b, heads);
  problem.lda = a.ld;
  problem.stride_a = a.stride;
  problem.ldb = b.ld;
  problem.stride_b = b.stride;
  problem.ldd = d.ld;
  problem.stride_d = d.stride;
  problem.alignment = 16;  // a head begins anywhere in a row
  return problem;
}

float scale_of(const AttentionShape& shape) {
  return 1 / std::sqrt(static_cast<float>(shape.head_width));
}

class PlainAttention final : public Attention {
 public:
  PlainAttention(Device& device, GemmPlans& plans, DataType precision, Kernels kernels,
                 Kernel& softmax, Kernel& softmax_backward)
      : facts_(device.facts()),
        plans_(plans),
        precision_(precision),
        kernels_(std::move(kernels)),
        softmax_(softmax),
        softmax_backward_(softmax_backward) {}

  Status forward(Stream& stream, void* y, const void* qkv, const AttentionMemory& memory,
                 const AttentionShape& shape) override {
    const std::int64_t t = shape.sequence, d = shape.head_width, c = shape.width();
    const std::int64_t h = shape.heads;
    const std::size_t row = std::size_t(c) * size_of(precision_);
    const Heads packed = {3 * c, d}, square = {t, t * t}, result = {c, d};
    const GemmProblem scores =
        product(t, t, d, precision_, DataType::f32, h, packed, false, packed, true, square);
    const GemmProblem weighted =
        product(t, d, t, precision_, precision_, h, square, false, packed, false, result);
    void* const s = memory.scratch;
    for (std::int64_t b = 0; b < shape.batch; ++b) {
      const auto* q = static_cast<const std::byte*>(qkv) + 3 * std::size_t(b * t) * row;
      const std::byte *k = q + row, *v = k + row;
      auto* out = static_cast<std::byte*>(y) + std::size_t(b * t) * row;
      void* const p = probabilities_of(memory, b, shape);
      TRY(plans_.enqueue(stream, scores, {.a = q, .b = k, .c = s, .d = s}));
      TRY(launch(stream, softmax_, shape_of_rows(facts_, h * t, t), p, s, std::uint64_t(h * t),
                 std::uint64_t(t), scale_of(shape)));
      TRY(plans_.enqueue(stream, weighted, {.a = p, .b = v, .c = out, .d = out}));
    }
    return {};
  }

  Status backward(Stream& stream, void* d_qkv, const void* dy, const void* /*y*/, const void* qkv,
                  const AttentionMemory& memory, const AttentionShape& shape) override {
    const std::int64_t t = shape.sequence, d = shape.head_width, c = shape.width();
    const std::int64_t h = shape.heads;
    const std::size_t row = std::size_t(c) * size_of(precision_);
    const Heads packed = {3 * c, d}, square = {t, t * t}, result = {c, d};
    const auto into_packed = [&](Heads a, bool transpose_a, Heads b) {
      return product(t, d, t, precision_, precision_, h, a, transpose_a, b, false, packed);
    };
    const GemmProblem to_probabilities =
        product(t, t, d, precision_, DataType::f32, h, result, false, packed, true, square);
    auto* const dp = static_cast<float*>(memory.scratch);
    void* const ds = dp + h * t * t;
    for (std::int64_t b = 0; b < shape.batch; ++b) {
      const auto* q = static_cast<const std::byte*>(qkv) + 3 * std::size_t(b * t) * row;
      const std::byte *k = q + row, *v = k + row;
      const auto* d_out = static_cast<const std::byte*>(dy) + std::size_t(b * t) * row;
      auto* dq = static_cast<std::byte*>(d_qkv) + 3 * std::size_t(b * t) * row;
      std::byte *dk = dq + row, *dv = dk + row;
      void* const p = probabilities_of(memory, b, shape);
      TRY(plans_.enqueue(stream, into_packed(square, true, result),
                         {.a = p, .b = d_out, .c = dv, .d = dv}));
      TRY(plans_.enqueue(stream, to_probabilities, {.a = d_out, .b = v, .c = dp, .d = dp}));
      TRY(launch(stream, softmax_backward_, shape_of_rows(facts_, h * t, t), ds, dp, p,
                 std::uint64_t(h * t), std::uint64_t(t), scale_of(shape)));
      TRY(plans_.enqueue(stream, into_packed(square, false, packed),
                         {.a = ds, .b = k, .c = dq, .d = dq}));
      TRY(plans_.enqueue(stream, into_packed(square, true, packed),
                         {.a = ds, .b = q, .c = dk, .d = dk}));
    }
    return {};
  }

 private:
  void* probabilities_of(const AttentionMemory& memory, std::int64_t sequence_index,
                         const AttentionShape& shape) const {
    const std::int64_t each = shape.heads * shape.sequence * shape.sequence;
    return static_cast<std::byte*>(memory.probabilities) +
           std::size_t(sequence_index * each) * size_of(precision_);
  }

  const DeviceFacts& facts_;
  GemmPlans& plans_;
  DataType precision_;
  Kernels kernels_;
  Kernel &softmax_, &softmax_backward_;
};

}  // namespace

Result<std::unique_ptr<Attention>> plain_attention(Device& device, GemmPlans& plans,
                                                   DataType precision) {
  Kernels kernels = TRY(Kernels::build(device, "softmax", precision));
  Kernel* softmax = TRY(kernels.of_type("causal_softmax"));
  Kernel* backward = TRY(kernels.of_type("causal_softmax_backward"));
  return std::unique_ptr<Attention>(std::make_unique<PlainAttention>(
      device, plans, precision, std::move(kernels), *softmax, *backward));
}

}  // namespace assay
