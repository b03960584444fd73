// gemm: matrix products with the vendor's libraries, out[M,N] = A[M,K] @ B[K,N].
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "compute/autotune/contest.h"
#include "compute/vendor/blas/blas.h"
#include "measure/benchmarks/gemm/gemm_cell.h"
#include "measure/benchmarks/gemm/gemm_operands.h"
#include "measure/benchmarks/gemm/gemm_verify.h"
#include "measure/grid/benchmark.h"

namespace assay::gemm_benchmark {
namespace {

// ---- Which library, layout and algorithm ----

constexpr int most_candidates = 64;  // per library and layout
// The workspaces that PyTorch gives cuBLASLt on Hopper and that hipblaslt-bench gives hipBLASLt.
// algorithm=best may use more.
constexpr std::size_t workspace_cuda = std::size_t{32} << 20;
constexpr std::size_t workspace_hip = std::size_t{128} << 20;
constexpr std::size_t workspace_best = std::size_t{256} << 20;

/// The algorithms for the default workspace, in the library's order, then those that need a larger
/// one.
Result<std::vector<GemmAlgorithm>> list_algorithms(Blas& library, const GemmProblem& problem,
                                                   const DeviceFacts& facts, bool best) {
  const std::size_t usual = facts.is_amd() ? workspace_hip : workspace_cuda;
  if (!best) return library.algorithms(problem, usual, 1);
  auto found = TRY(library.algorithms(problem, usual, most_candidates));
  const auto larger = library.algorithms(problem, workspace_best, most_candidates);
  if (!larger.ok()) return found;
  for (const GemmAlgorithm& algorithm : *larger) {
    const bool known = std::any_of(found.begin(), found.end(), [&](const GemmAlgorithm& other) {
      return other.data == algorithm.data;
    });
    if (!known) found.push_back(algorithm);
  }
  return found;
}

void add_reason(std::vector<std::string>& reasons, const std::string& reason) {
  if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) reasons.push_back(reason);
}

/// An implementation of the cell that is ready to be enqueued.
struct GemmCandidate {
  Blas* library = nullptr;
  GemmProblem problem;
  GemmAlgorithm algorithm;
  int rank = 0;  ///< position in the library's own order, from 0
  std::unique_ptr<GemmPlan> plan;
};

/// Libraries opened for a cell, and their candidates.
struct GemmCandidates {
  std::vector<std::unique_ptr<Blas>> libraries;  // must outlive the plans
  std::vector<GemmCandidate> candidates;
};

/// algorithm=default: for each layout, the first choice of the first library that supports the
/// cell; algorithm=best: up to 64 from each library the cell allows. Error: unsupported or
/// unavailable, with all reasons, if there are none.
Result<GemmCandidates> find_candidates(Device& device, const GemmCell& cell) {
  const DeviceFacts& facts = device.facts();
  GemmCandidates found;
  std::vector<std::string> reasons;
  ErrorKind kind = ErrorKind::unsupported;
  for (const BlasProvider& provider : blas_providers(facts.backend)) {
    if (!provider.allowed_by(cell.library)) continue;
    if (!cell.best && !found.candidates.empty()) break;
    std::unique_ptr<Blas> library;
    for (const std::string& layout : cell.layouts) {
      const GemmProblem problem = problem_of(cell, layout);
      if (const auto reason = provider.unsupported(problem, facts)) {
        add_reason(reasons, fmt::format("{}: {}", provider.name, *reason));
        continue;
      }
      if (!library) {
        auto opened = provider.open(device);
        if (!opened.ok()) {
          kind = opened.error().kind;
          add_reason(reasons, opened.error().message);
          break;
        }
        library = std::move(opened).value();
      }
      const auto algorithms = list_algorithms(*library, problem, facts, cell.best);
      if (!algorithms.ok()) {
        add_reason(reasons, algorithms.error().message);
        continue;
      }
      int rank = 0;
      for (const GemmAlgorithm& algorithm : *algorithms) {
        auto plan = library->plan(problem, algorithm);
        if (plan.ok()) {
          found.candidates.push_back(
              {library.get(), problem, algorithm, rank, std::move(plan).value()});
        } else {
          add_reason(reasons, plan.error().message);
        }
        ++rank;
      }
    }
    if (library) found.libraries.push_back(std::move(library));
  }
  if (found.candidates.empty()) return Error{kind, fmt::format("{}", fmt::join(reasons, "; "))};
  return found;
}

/// Measures the candidates on the device with the first set of operands and returns the index of
/// the fastest. Error: from find_fastest().
Result<std::size_t> fastest_candidate(GemmMatrices& matrices, Stream& stream,
                                      GemmCandidates& candidates, Workspace workspace,
                                      const std::function<bool()>& stop_requested) {
  const OperandSet& set = matrices.sets().front();
  std::vector<Contender> contenders;
  for (GemmCandidate& candidate : candidates.candidates) {
    if (const Status packed = candidate.plan->pack(stream, set.b.data()); !packed.ok()) {
      return packed.error();
    }
    contenders.emplace_back([&candidate, &set, workspace](Stream& on) {
      return candidate.plan->enqueue(on, set.pointers(), workspace);
    });
  }
  return TRY(find_fastest(matrices.device(), stream, contenders,
                          {.stop_requested = stop_requested}))
      .fastest;
}

// ---- The benchmark ----

class GemmCase final : public Case {
 public:
  GemmCase(GemmCell cell, GemmCandidates candidates, GemmMatrices matrices, std::uint64_t seed)
      : cell_(std::move(cell)),
        candidates_(std::move(candidates)),
        matrices_(std::move(matrices)),
        seed_(seed) {}

  Status prepare(Stream& stream, const std::function<bool()>& stop_requested) {
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
          TRY(fastest_candidate(matrices_, stream, candidates_, workspace_view(), stop_requested));
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
    return "matrix products by the vendor's libraries: FLOP/s";
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
    TRY(prepared->prepare(context.stream, context.stop_requested));
    return std::unique_ptr<Case>(std::move(prepared));
  }
};

const GemmBenchmark benchmark;
const Registry<const Benchmark*>::Add registered{&benchmark};

}  // namespace
}  // namespace assay::gemm_benchmark
