#include "compute/vendor/blas/gemm_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "compute/device/helpers.h"

namespace assay {

std::string problem_text(const GemmProblem& p) {
  static_assert(sizeof(GemmProblem) == 168, "a new field belongs into the key below");
  return fmt::format(
      "{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} "
      "{}{}",
      p.m, p.n, p.k, p.batch, p.transpose_a, p.transpose_b, name_of(p.a), name_of(p.b),
      name_of(p.c), name_of(p.d), name_of(p.compute), p.lda, p.ldb, p.ldd, p.stride_a, p.stride_b,
      p.stride_d, p.alpha, p.beta, name_of(p.epilogue), name_of(p.bias), name_of(p.aux), p.ld_aux,
      p.fast_accumulate, p.scales_a, p.scales_b, p.scales_d, p.writes_amax_d, p.alignment,
      p.constant_b, p.multiprocessors, p.scales_lines ? " lines" : "");
}

std::size_t matrices_to_read(const DeviceFacts& facts, const GemmProblem& p) {
  constexpr std::int64_t few_rows = 256;
  constexpr std::uint64_t most = 8;
  if (p.m > few_rows || p.constant_b) return 1;
  const std::uint64_t bytes = static_cast<std::uint64_t>(p.elements_b()) * size_of(p.b);
  return std::clamp<std::uint64_t>((flushing_bytes(facts) + bytes - 1) / bytes, 1, most);
}

ChoiceKey gemm_choice_key(const DeviceFacts& facts, const BlasFacts& library,
                          const GemmProblem& problem, std::size_t workspace_bytes) {
  return {matrices_to_read(facts, problem) > 1 ? "gemm of several matrices" : "gemm",
          library.name + " " + library.version,
          fmt::format("{} in {}", problem_text(problem), workspace_bytes)};
}

}  // namespace assay
