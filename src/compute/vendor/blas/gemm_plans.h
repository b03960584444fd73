// Caches plans of matrix products, one for each problem: a training step or a server asks for the
// same problems again and again.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compute/autotune/choice_cache.h"
#include "compute/autotune/contest.h"
#include "compute/device/device.h"
#include "compute/vendor/blas/blas.h"

namespace assay {

/// Used by one thread at a time. Plans share one workspace, so they run on one stream at a time.
class GemmPlans {
 public:
  struct Options {
    std::string library = "auto";  ///< as in open_blas()
    /// Bytes of scratch memory; algorithms that need more are not used.
    std::size_t workspace_bytes = std::size_t{32} << 20;
    /// Whether to measure the algorithms that a library offers, once for each problem on each
    /// device. Otherwise, and on emulated devices, the library's first choice is used.
    bool measure = true;
    /// Whether to fall back to assay's own GEMM, which "auto" leaves out, where no library supports
    /// a problem.
    bool own_if_none = false;
    std::function<bool()> stop_requested = {};  ///< if set, called while algorithms are measured
  };
  /// `device` and `stream` must outlive this object; algorithms are measured on `stream`.
  GemmPlans(Device& device, Stream& stream, Options options, ChoiceCache choices);

  /// Returns the plan for `problem`, which lives as long as this object. The first call for a
  /// problem opens the library. Unless the fastest algorithm is remembered, it measures those that
  /// the library offers on temporary operands, and remembers the fastest. If there is no memory for
  /// such operands, it takes the library's first choice. Later calls cost a look-up. Error: as
  /// open_blas(), Blas::algorithms() and find_fastest(); exhausted without memory for the
  /// workspace.
  Result<GemmPlan*> find(const GemmProblem& problem);
  /// Returns whether some library, or the fallback, computes `problem`, for callers that can do
  /// without its epilogue. It is false only after an error `unsupported` or `unavailable` of
  /// find().
  bool supports(const GemmProblem& problem);
  /// Returns whether `fused`, a product with an epilogue, is faster than `separate`, which does the
  /// same in several steps; `problem` is the product. It is measured once per device and
  /// remembered. Without measuring, and on emulated devices, it is true whenever supports(problem)
  /// is. Both contenders run several times and must be repeatable. Error: as library_of() and
  /// choose_variant() (compute/autotune/choose_variant.h).
  Result<bool> better_fused(const GemmProblem& problem, const Contender& fused,
                            const Contender& separate);
  /// Returns whether a library computes `problem`, rather than the fallback to assay's own GEMM.
  bool library_supports(const GemmProblem& problem);
  /// Returns the library that find() would use, the fallback aside, with its version: "cublaslt
  /// 13.0". Opens it. Error: as open_blas().
  Result<std::string> library_of(const GemmProblem& problem);
  /// Returns the libraries opened so far with their versions, "hipblaslt 1.0.0, own 0.1.0".
  std::string libraries() const;
  /// Calls find() and then GemmPlan::enqueue() with the shared workspace. Error: as these two.
  Status enqueue(Stream& stream, const GemmProblem& problem, const GemmOperands& operands);
  /// Returns the workspace for GemmPlan::enqueue(), after the first find(). Its address never
  /// changes, so captured graphs stay valid.
  Workspace workspace() const { return {workspace_.data(), workspace_.bytes()}; }

 private:
  Result<std::unique_ptr<GemmPlan>> make_plan(std::string_view library, const GemmProblem& problem);
  Result<Blas*> library_for(std::string_view choice, const GemmProblem& problem);
  Result<GemmAlgorithm> choose(Blas& library, const GemmProblem& problem);
  ContestLimits quick_contest() const;
  Result<std::size_t> measure(Blas& library, const GemmProblem& problem,
                              const std::vector<GemmAlgorithm>& algorithms);

  Device& device_;
  Stream& stream_;
  const Options options_;
  const ChoiceCache choices_;
  std::map<std::string, std::unique_ptr<Blas>, std::less<>> libraries_;  // keyed by name
  std::map<GemmProblem, std::unique_ptr<GemmPlan>> plans_;
  std::set<GemmProblem> unsupported_;
  std::map<GemmProblem, bool> better_fused_;
  Buffer workspace_;
};

}  // namespace assay
