#include "advise/tune/gemm/product_record.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace assay {
namespace {

/// The name from describe(), extended by every property that differs from the same GEMM with packed
/// matrices, so that different GEMMs are different cells.
std::string unique_name(const GemmProblem& p) {
  static_assert(sizeof(GemmProblem) == 168, "a new field belongs into the name");
  GemmProblem usual = make_gemm(p.m, p.n, p.k, p.a, p.d, p.transpose_a, p.transpose_b, p.batch);
  usual.stride_a = (p.transpose_a ? p.k : p.m) * p.lda;
  usual.stride_b = (p.transpose_b ? p.n : p.k) * p.ldb;
  usual.stride_d = p.m * p.ldd;
  std::string name = describe(p);
  const auto tell = [&](std::string_view what, const auto& value, const auto& as_usual) {
    if (value != as_usual) name += fmt::format(" {}={}", what, value);
  };
  const auto tell_type = [&](std::string_view what, DataType value, DataType as_usual) {
    tell(what, name_of(value), name_of(as_usual));
  };
  tell_type("c", p.c, usual.c);
  tell_type("compute", p.compute, usual.compute);
  tell("lda", p.lda, usual.lda);
  tell("ldb", p.ldb, usual.ldb);
  tell("ldd", p.ldd, usual.ldd);
  tell("stride_a", p.stride_a, usual.stride_a);
  tell("stride_b", p.stride_b, usual.stride_b);
  tell("stride_d", p.stride_d, usual.stride_d);
  tell("alpha", p.alpha, usual.alpha);
  tell("beta", p.beta, usual.beta);
  tell_type("bias", p.bias, usual.bias);
  tell_type("aux", p.aux, usual.aux);
  tell("ld_aux", p.ld_aux, usual.ld_aux);
  tell("fast_accumulate", p.fast_accumulate, usual.fast_accumulate);
  tell("scales_a", p.scales_a, usual.scales_a);
  tell("scales_b", p.scales_b, usual.scales_b);
  tell("scales_d", p.scales_d, usual.scales_d);
  tell("writes_amax_d", p.writes_amax_d, usual.writes_amax_d);
  tell("alignment", p.alignment, usual.alignment);
  tell("constant_b", p.constant_b, usual.constant_b);
  tell("multiprocessors", p.multiprocessors, usual.multiprocessors);
  return name;
}

}  // namespace

Record record_of(const TunedProduct& tuned) {
  const ProductOutcome& outcome = tuned.outcome;
  Record record;
  record.cell = Cell("tuned_gemm", {{"product", unique_name(tuned.product.problem)}});
  record.source = Source{"assay tune gemm", "", "", 0};
  record.notes.emplace_back("problem", outcome.problem);
  if (!outcome.reason.empty()) {
    record.reason = outcome.reason;
    return record;
  }
  record.status = RecordStatus::passed;
  record.metrics = {
      {"time", outcome.best_seconds(), "s", Better::lower, "", std::nullopt},
      {"time_before", outcome.usual_seconds, "s", Better::neither, "", std::nullopt},
      {"gain", outcome.proven ? outcome.gain : 1, "1", Better::neither, "", std::nullopt}};
  record.notes.emplace_back("before", outcome.usual.library + " " + outcome.usual.algorithm);
  record.notes.emplace_back("best", outcome.best.library + " " + outcome.best.algorithm);
  Curve curve{"time over that of the library's choice", "solution, from the fastest on", {}, {}};
  for (std::size_t i = 0; i < outcome.first_times.size(); ++i) {
    curve.x.push_back(static_cast<double>(i + 1));
    curve.y.push_back(outcome.first_times[i]);
  }
  record.curves.push_back(std::move(curve));
  return record;
}

}  // namespace assay
