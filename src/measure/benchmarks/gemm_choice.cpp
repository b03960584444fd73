#include "measure/benchmarks/gemm_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "compute/choice/fastest.h"
#include "core/suggest.h"

namespace assay {
namespace {

constexpr int most_candidates = 64;  // per library and layout
// The workspace PyTorch gives cuBLASLt on Hopper, and the one hipblaslt-bench gives hipBLASLt.
// algorithm=best may use more.
constexpr std::size_t workspace_cuda = std::size_t{32} << 20;
constexpr std::size_t workspace_hip = std::size_t{128} << 20;
constexpr std::size_t workspace_best = std::size_t{256} << 20;

/// The algorithms in the library's order for the usual workspace, then those that need a larger
/// one.
Result<std::vector<GemmAlgorithm>> list_algorithms(Blas& library, const GemmProblem& problem,
                                                   std::string_view backend, bool best) {
  const std::size_t usual = backend == "hip" ? workspace_hip : workspace_cuda;
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

}  // namespace

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
      const auto algorithms = list_algorithms(*library, problem, facts.backend, cell.best);
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
  if (found.candidates.empty()) return Error{kind, join(reasons, "; ")};
  return found;
}

Result<std::size_t> fastest_candidate(GemmMatrices& matrices, Stream& stream,
                                      GemmCandidates& candidates, Workspace workspace) {
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
  return TRY(find_fastest(matrices.device(), stream, contenders)).fastest;
}

}  // namespace assay
