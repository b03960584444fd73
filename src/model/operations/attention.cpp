#include "model/operations/attention.h"

#include <cmath>

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

}  // namespace

Result<PlainAttention> PlainAttention::create(Device& device, GemmPlans& plans,
                                              DataType precision) {
  PlainAttention made(device.facts(), plans, precision,
                      TRY(Kernels::build(device, "softmax", precision)));
  made.softmax_ = TRY(made.kernels_.of_type("causal_softmax"));
  made.softmax_backward_ = TRY(made.kernels_.of_type("causal_softmax_backward"));
  return made;
}

Status PlainAttention::forward(Stream& stream, void* y, void* probabilities, const void* qkv,
                               void* scratch, const AttentionShape& shape) {
  const std::int64_t t = shape.sequence, d = shape.head_width, c = shape.width(), h = shape.heads;
  const std::size_t element = size_of(precision_);
  const Heads packed = {3 * c, d}, square = {t, t * t}, result = {c, d};
  const GemmProblem scores =
      product(t, t, d, precision_, DataType::f32, h, packed, false, packed, true, square);
  const GemmProblem weighted =
      product(t, d, t, precision_, precision_, h, square, false, packed, false, result);
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    const auto* q = static_cast<const std::byte*>(qkv) + std::size_t(b * t * 3 * c) * element;
    auto* p = static_cast<std::byte*>(probabilities) + std::size_t(b * h * t * t) * element;
    auto* out = static_cast<std::byte*>(y) + std::size_t(b * t * c) * element;
    const std::byte *k = q + std::size_t(c) * element, *v = k + std::size_t(c) * element;
    TRY(plans_->enqueue(stream, scores, {.a = q, .b = k, .c = scratch, .d = scratch}));
    TRY(launch(stream, *softmax_, shape_of_rows(*facts_, h * t, t), static_cast<void*>(p), scratch,
               std::uint64_t(h * t), std::uint64_t(t), scale_of(shape)));
    TRY(plans_->enqueue(stream, weighted, {.a = p, .b = v, .c = out, .d = out}));
  }
  return {};
}

Status PlainAttention::backward(Stream& stream, void* d_qkv, const void* dy, const void* qkv,
                                const void* probabilities, void* scratch,
                                const AttentionShape& shape) {
  const std::int64_t t = shape.sequence, d = shape.head_width, c = shape.width(), h = shape.heads;
  const std::size_t element = size_of(precision_);
  const Heads packed = {3 * c, d}, square = {t, t * t}, result = {c, d};
  const auto into = [&](Heads a, bool transpose_a, Heads b) {
    return product(t, d, t, precision_, precision_, h, a, transpose_a, b, false, packed);
  };
  const GemmProblem to_probabilities =
      product(t, t, d, precision_, DataType::f32, h, result, false, packed, true, square);
  auto* dp = static_cast<float*>(scratch);
  void* ds = dp + h * t * t;
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    const std::size_t rows = std::size_t(b * t), row = std::size_t(c) * element;
    const auto* q = static_cast<const std::byte*>(qkv) + 3 * rows * row;
    const auto* p =
        static_cast<const std::byte*>(probabilities) + std::size_t(b * h * t * t) * element;
    const auto* dout = static_cast<const std::byte*>(dy) + rows * row;
    auto* dq = static_cast<std::byte*>(d_qkv) + 3 * rows * row;
    const std::byte *k = q + row, *v = k + row;
    std::byte *dk = dq + row, *dv = dk + row;
    TRY(plans_->enqueue(stream, into(square, true, result), {.a = p, .b = dout, .c = dv, .d = dv}));
    TRY(plans_->enqueue(stream, to_probabilities, {.a = dout, .b = v, .c = dp, .d = dp}));
    TRY(launch(stream, *softmax_backward_, shape_of_rows(*facts_, h * t, t), ds, dp, p,
               std::uint64_t(h * t), std::uint64_t(t), scale_of(shape)));
    TRY(plans_->enqueue(stream, into(square, false, packed), {.a = ds, .b = k, .c = dq, .d = dq}));
    TRY(plans_->enqueue(stream, into(square, true, packed), {.a = ds, .b = q, .c = dk, .d = dk}));
  }
  return {};
}

}  // namespace assay
