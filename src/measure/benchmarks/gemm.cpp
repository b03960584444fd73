// gemm: matrix products through the vendor's libraries, out[M,N] = A[M,K] @ B[K,N].
#include <fmt/format.h>

#include <algorithm>

#include "measure/benchmarks/benchmark.h"
#include "measure/benchmarks/gemm_cell.h"
#include "measure/benchmarks/gemm_choice.h"
#include "measure/benchmarks/gemm_operands.h"
#include "measure/benchmarks/gemm_verify.h"

namespace assay::gemm_benchmark {
namespace {

class GemmCase final : public Case {
 public:
  GemmCase(GemmCell cell, GemmCandidates candidates, GemmMatrices matrices, std::uint64_t seed)
      : cell_(std::move(cell)),
        candidates_(std::move(candidates)),
        matrices_(std::move(matrices)),
        seed_(seed) {}

  Status prepare(Stream& stream) {
    std::size_t workspace = 0;
    for (const GemmCandidate& candidate : candidates_.candidates) {
      workspace = std::max(workspace, candidate.algorithm.workspace_bytes);
    }
    if (workspace > 0) {
      workspace_ = TRY(matrices_.device().allocate(workspace, MemoryKind::device));
    }
    tried_ = candidates_.candidates.size();
    if (tried_ > 1) {
      const std::size_t best =
          TRY(fastest_candidate(matrices_, stream, candidates_, workspace_view()));
      std::swap(candidates_.candidates.front(), candidates_.candidates[best]);
      candidates_.candidates.erase(candidates_.candidates.begin() + 1,
                                   candidates_.candidates.end());
    }
    if (cell_.pad > 0) TRY(matrices_.fill_rows(stream, chosen().problem));
    for (const OperandSet& set : matrices_.sets()) {
      TRY(chosen().plan->pack(stream, set.b.data()));
    }
    // Libraries load kernels on first use, which must not happen while the device is held.
    TRY(enqueue(stream));
    next_ = 0;
    return stream.synchronize();
  }

  Work work() const override {
    const double chain = cell_.chain;
    return {.bytes = chain * chosen().problem.bytes(),
            .flops = chain * chosen().problem.flops(),
            .repetitions = chain,
            .math = cell_.dtype};
  }
  Quantity quantity() const override { return Quantity::flop_rate; }
  Limit limit() const override { return Limit::compute; }
  bool fits_behind_gate() const override { return cell_.chain <= 20; }

  std::vector<std::pair<std::string, std::string>> notes() const override {
    const BlasFacts& facts = chosen().library->facts();
    return {{"library", fmt::format("{} {}", facts.name, facts.version)},
            {"library_path", facts.path},
            {"layout", std::string(layout_of(chosen().problem))},
            {"algorithm", chosen().algorithm.name},
            {"algorithm_rank", std::to_string(chosen().rank)},
            {"algorithms_measured", std::to_string(tried_ > 1 ? tried_ : 0)},
            {"workspace_bytes", std::to_string(chosen().algorithm.workspace_bytes)},
            {"operand_sets", std::to_string(matrices_.sets().size())}};
  }

  Status enqueue(Stream& stream) override {
    for (int i = 0; i < cell_.chain; ++i) {
      const OperandSet& set = matrices_.sets()[next_];
      next_ = (next_ + 1) % matrices_.sets().size();
      TRY(chosen().plan->enqueue(stream, set.pointers(), workspace_view()));
    }
    return {};
  }

  Result<Verification> verify(Stream& stream) override {
    const OperandSet& set = matrices_.sets().front();
    TRY(matrices_.poison(stream, chosen().problem, set));
    TRY(chosen().plan->enqueue(stream, set.pointers(), workspace_view()));
    TRY(stream.synchronize());
    return verify_gemm(stream, matrices_, chosen().problem, set, largest_input(cell_), seed_);
  }

 private:
  const GemmCandidate& chosen() const { return candidates_.candidates.front(); }
  Workspace workspace_view() const { return {workspace_.data(), workspace_.bytes()}; }

  GemmCell cell_;
  GemmCandidates candidates_;
  GemmMatrices matrices_;
  std::uint64_t seed_;
  Buffer workspace_;
  std::size_t tried_ = 0;
  std::size_t next_ = 0;
};

class GemmBenchmark final : public Benchmark {
 public:
  std::string_view name() const override { return "gemm"; }
  std::string_view summary() const override {
    return "matrix products through the vendor's libraries, FLOP/s";
  }
  const std::vector<Axis>& axes() const override { return gemm_axes(); }

  bool redundant(const Cell& cell) const override {
    const GemmCell parsed = parse_gemm_cell(cell);
    return parsed.fast_accumulate && size_of(parsed.dtype) != 1;
  }
  std::optional<std::string> unsupported(const Cell& cell, const Device& device) const override {
    return gemm_unsupported(parse_gemm_cell(cell), device.facts());
  }

  Result<std::unique_ptr<Case>> prepare(const Cell& cell, PrepareContext context) const override {
    GemmCell parsed = parse_gemm_cell(cell);
    GemmCandidates candidates = TRY(find_candidates(context.device, parsed));
    std::vector<GemmProblem> problems;
    for (const GemmCandidate& candidate : candidates.candidates) {
      problems.push_back(candidate.problem);
    }
    GemmMatrices matrices =
        TRY(GemmMatrices::create(context.device, context.stream, parsed, problems, context.seed));
    auto prepared = std::make_unique<GemmCase>(std::move(parsed), std::move(candidates),
                                               std::move(matrices), context.seed);
    TRY(prepared->prepare(context.stream));
    return std::unique_ptr<Case>(std::move(prepared));
  }
};

const GemmBenchmark benchmark;
const Registry<const Benchmark*>::Add registered{&benchmark};

}  // namespace
}  // namespace assay::gemm_benchmark
