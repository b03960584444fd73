#include "model/operations/low_rank.h"

namespace assay {
namespace {

/// A product of matrices whose rows are `lda`, `ldb` and `ldd` elements apart, and which begin
/// within rows of wider ones.
GemmProblem product_of_parts(GemmProblem problem, std::int64_t lda, std::int64_t ldb,
                             std::int64_t ldd, std::int64_t first, std::int64_t rank) {
  problem.lda = lda;
  problem.ldb = ldb;
  problem.ldd = ldd;
  const auto element = static_cast<std::int64_t>(size_of(problem.a));
  while (first * element % problem.alignment != 0 || rank * element % problem.alignment != 0) {
    problem.alignment /= 2;
  }
  return problem;
}

}  // namespace

const std::byte* LowRank::column(const void* matrix, std::int64_t at) const {
  return static_cast<const std::byte*>(matrix) + static_cast<std::size_t>(at) * size_of(precision_);
}

Status LowRank::project(Stream& stream, void* t, const void* x, const LowRankGroup& group) {
  GemmProblem problem =
      make_gemm(group.rows, group.ranks(), group.inputs, precision_, precision_, false, true);
  problem.alpha = scale_;
  return plans_->enqueue(stream, problem, {.a = x, .b = group.a, .c = t, .d = t});
}

Status LowRank::apply(Stream& stream, void* y, const void* t, const LowRankGroup& group, bool add) {
  std::int64_t rank = 0;
  for (const LowRankGroup::Part& part : group.parts) {
    GemmProblem problem = product_of_parts(
        make_gemm(group.rows, part.outputs, group.rank, precision_, precision_, false, true),
        group.ranks(), group.rank, group.columns, part.first, group.rank);
    problem.beta = add ? 1 : 0;
    void* const to = const_cast<std::byte*>(column(y, part.first));
    TRY(plans_->enqueue(stream, problem, {.a = column(t, rank), .b = part.b, .c = to, .d = to}));
    rank += group.rank;
  }
  return {};
}

Status LowRank::backward(Stream& stream, void* dx, const void* dy, const void* x, const void* t,
                         void* u, const LowRankGroup& group, bool add) {
  std::int64_t rank = 0;
  for (const LowRankGroup::Part& part : group.parts) {
    const void* const d_part = column(dy, part.first);
    GemmProblem of_b = product_of_parts(
        make_gemm(part.outputs, group.rank, group.rows, precision_, precision_, true, false),
        group.columns, group.ranks(), group.rank, part.first, group.rank);
    of_b.beta = add ? 1 : 0;
    TRY(plans_->enqueue(stream, of_b,
                        {.a = d_part, .b = column(t, rank), .c = part.d_b, .d = part.d_b}));
    GemmProblem of_t =
        product_of_parts(make_gemm(group.rows, group.rank, part.outputs, precision_, precision_),
                         group.columns, group.rank, group.ranks(), part.first, group.rank);
    of_t.alpha = scale_;
    void* const to = const_cast<std::byte*>(column(u, rank));
    TRY(plans_->enqueue(stream, of_t, {.a = d_part, .b = part.b, .c = to, .d = to}));
    rank += group.rank;
  }
  GemmProblem of_a =
      make_gemm(group.ranks(), group.inputs, group.rows, precision_, precision_, true, false);
  of_a.beta = add ? 1 : 0;
  TRY(plans_->enqueue(stream, of_a, {.a = u, .b = x, .c = group.d_a, .d = group.d_a}));
  if (dx == nullptr) return {};
  return plans_->enqueue(stream,
                         make_gemm(group.rows, group.inputs, group.ranks(), precision_, precision_),
                         {.a = u, .b = group.a, .c = dx, .d = dx});
}

}  // namespace assay
