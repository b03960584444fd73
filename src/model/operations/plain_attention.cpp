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
    const Layout l(shape);
    const std::int64_t t = shape.sequence, d = shape.head_width, rows = shape.heads * t;
    const GemmProblem scores = product(t, t, d, precision_, DataType::f32, l.kv_heads, l.queries,
                                       false, l.keys, true, l.squares);
    const GemmProblem weighted = product(t, d, t, precision_, precision_, l.kv_heads, l.squares,
                                         false, l.keys, false, l.results);
    for (std::int64_t b = 0; b < shape.batch; ++b) {
      const std::byte* const q = at(qkv, b * t * l.queries.ld);
      const std::byte *const k = at(q, shape.width()), *const v = at(k, l.kv_heads * d);
      std::byte* const out = at(y, b * t * l.results.ld);
      std::byte* const p = at(memory.probabilities, b * shape.heads * t * t);
      for (std::int64_t g = 0; g < l.group; ++g) {
        float* const s = static_cast<float*>(memory.scratch) + g * t * t;
        TRY(plans_.enqueue(stream, scores, {.a = at(q, g * d), .b = k, .c = s, .d = s}));
      }
      TRY(launch(stream, softmax_, shape_of_rows(facts_, rows, t), p, memory.scratch,
                 documents_of(shape, b), std::uint64_t(rows), std::uint64_t(t), scale_of(shape)));
      for (std::int64_t g = 0; g < l.group; ++g) {
        std::byte* const of_head = at(out, g * d);
        TRY(plans_.enqueue(stream, weighted,
                           {.a = at(p, g * t * t), .b = v, .c = of_head, .d = of_head}));
      }
    }
    return {};
  }

  Status backward(Stream& stream, void* d_qkv, const void* dy, const void* /*y*/, const void* qkv,
                  const AttentionMemory& memory, const AttentionShape& shape) override {
    const Layout l(shape);
    const std::int64_t t = shape.sequence, d = shape.head_width, rows = shape.heads * t;
    /// The gradient of keys or values, summed over the query heads that share them.
    const auto into_keys = [&](Heads b, std::int64_t g) {
      GemmProblem problem =
          product(t, d, t, precision_, precision_, l.kv_heads, l.squares, true, b, false, l.keys);
      problem.beta = g > 0 ? 1 : 0;
      return problem;
    };
    const GemmProblem to_probabilities = product(t, t, d, precision_, DataType::f32, l.kv_heads,
                                                 l.results, false, l.keys, true, l.squares);
    const GemmProblem into_queries = product(t, d, t, precision_, precision_, l.kv_heads, l.squares,
                                             false, l.keys, false, l.queries);
    auto* const dp = static_cast<float*>(memory.scratch);
    void* const ds = dp + shape.heads * t * t;
    for (std::int64_t b = 0; b < shape.batch; ++b) {
      const std::byte* const q = at(qkv, b * t * l.queries.ld);
      const std::byte *const k = at(q, shape.width()), *const v = at(k, l.kv_heads * d);
      const std::byte* const d_out = at(dy, b * t * l.results.ld);
      std::byte* const dq = at(d_qkv, b * t * l.queries.ld);
      std::byte *const dk = at(dq, shape.width()), *const dv = at(dk, l.kv_heads * d);
      std::byte* const p = at(memory.probabilities, b * shape.heads * t * t);
      for (std::int64_t g = 0; g < l.group; ++g) {
        const std::byte* const of_head = at(d_out, g * d);
        float* const to = dp + g * t * t;
        TRY(plans_.enqueue(stream, into_keys(l.results, g),
                           {.a = at(p, g * t * t), .b = of_head, .c = dv, .d = dv}));
        TRY(plans_.enqueue(stream, to_probabilities, {.a = of_head, .b = v, .c = to, .d = to}));
      }
      TRY(launch(stream, softmax_backward_, shape_of_rows(facts_, rows, t), ds, dp, p,
                 documents_of(shape, b), std::uint64_t(rows), std::uint64_t(t), scale_of(shape)));
      for (std::int64_t g = 0; g < l.group; ++g) {
        const std::byte* const of_scores = at(ds, g * t * t);
        std::byte* const of_queries = at(dq, g * d);
        TRY(plans_.enqueue(stream, into_queries,
                           {.a = of_scores, .b = k, .c = of_queries, .d = of_queries}));
        TRY(plans_.enqueue(stream, into_keys(l.queries, g),
                           {.a = of_scores, .b = at(q, g * d), .c = dk, .d = dk}));
      }
    }
    return {};
  }

 private:
  /// The matrices of one sequence. Each product computes one query head of every head of keys:
  /// member g of their groups, whose matrices begin g heads further.
  struct Layout {
    std::int64_t kv_heads, group;
    Heads queries, keys, results, squares;

    explicit Layout(const AttentionShape& s)
        : kv_heads(s.heads_of_keys()),
          group(s.heads / kv_heads),
          queries{s.qkv_width(), group * s.head_width},
          keys{s.qkv_width(), s.head_width},
          results{s.width(), group * s.head_width},
          squares{s.sequence, group * s.sequence * s.sequence} {}
  };

  static const std::int32_t* documents_of(const AttentionShape& shape, std::int64_t sequence) {
    const std::int32_t* const all = shape.document_starts;
    return all != nullptr ? all + sequence * shape.sequence : nullptr;
  }

  /// The address of an element of an array of the precision.
  const std::byte* at(const void* array, std::int64_t element) const {
    return static_cast<const std::byte*>(array) + std::size_t(element) * size_of(precision_);
  }
  std::byte* at(void* array, std::int64_t element) const {
    return static_cast<std::byte*>(array) + std::size_t(element) * size_of(precision_);
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
