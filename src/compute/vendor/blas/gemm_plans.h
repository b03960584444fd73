// Plans of matrix products, made once for each problem and kept: what a training step or a server
// asks for over and over, one problem at a time.
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
    std::string library = "auto";  ///< as open_blas() takes it
    /// Scratch memory, which no algorithm may need more of.
    std::size_t workspace_bytes = std::size_t{32} << 20;
    /// Whether the algorithms a library offers are measured, once for each problem on each device;
    /// otherwise its own first choice is taken.
    bool measure = true;
    /// Whether assay's own product, which "auto" leaves out, computes what no library does.
    bool own_if_none = false;
    std::function<bool()> stop_requested = {};  ///< asked while they are measured, if there is one
  };
  /// `device` and `stream` must outlive it; algorithms are measured on `stream`.
  GemmPlans(Device& device, Stream& stream, Options options, ChoiceCache choices);

  /// The plan for `problem`, which lives as long as this object. The first time it opens the
  /// library, measures what it offers on operands of its own, and remembers what was fastest; later
  /// it costs a look-up. Error: unsupported or unavailable with every library's reason; exhausted;
  /// interrupted, if it was asked to stop.
  Result<GemmPlan*> find(const GemmProblem& problem);
  /// Whether some library computes `problem`; for callers that can do without its epilogue.
  bool supports(const GemmProblem& problem);
  /// Whether `fused`, a product with an epilogue, is faster than `separate`, which does the same in
  /// several steps; `problem` is the product. Measured once on this device and remembered; without
  /// measuring, it is whenever a library computes it. Both must leave the same result any number of
  /// times. Error: as find_fastest().
  Result<bool> better_fused(const GemmProblem& problem, const Contender& fused,
                            const Contender& separate);
  /// The library that find() would ask, with its version: "cublaslt 13.0". Opens it. Error: as
  /// find().
  Result<std::string> library_of(const GemmProblem& problem);
  /// The libraries opened so far with their versions, "hipblaslt 1.0.0, own 0.1.0".
  std::string libraries() const;
  /// find() and GemmPlan::enqueue() with the shared workspace. Error: as they.
  Status enqueue(Stream& stream, const GemmProblem& problem, const GemmOperands& operands);
  /// For GemmPlan::enqueue(), after the first find(). It stays where it is, so captured graphs keep
  /// it.
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
  std::map<std::string, std::unique_ptr<Blas>, std::less<>> libraries_;  // by name
  std::map<GemmProblem, std::unique_ptr<GemmPlan>> plans_;
  std::set<GemmProblem> unsupported_;
  std::map<GemmProblem, bool> better_fused_;
  Buffer workspace_;
};

}  // namespace assay
