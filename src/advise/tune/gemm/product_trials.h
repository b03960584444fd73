// The solutions of one GEMM, which can be checked and timed on rotating operands.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "advise/tune/gemm/product_outcome.h"
#include "advise/tune/gemm/product_tuner.h"
#include "compute/device/device.h"
#include "compute/vendor/blas/blas.h"
#include "measure/benchmarks/gemm/gemm_operands.h"

namespace assay {

/// The order of calls is create(), add() for each solution, allocate_workspace(); then screen() for
/// a solution, before its check() and time().
class ProductTrials {
 public:
  /// Allocates and fills the operands. `device` and `stream` must outlive the result. Error:
  /// exhausted if they do not fit; as the device's calls.
  static Result<ProductTrials> create(Device& device, Stream& stream, const GemmProblem& problem,
                                      const TuneGemmSettings& settings);

  /// Adds a solution of `library`, which must outlive this object.
  void add(Blas& library, GemmAlgorithm algorithm);
  std::size_t size() const { return candidates_.size(); }
  const ProductSolution& solution(std::size_t i) const { return candidates_[i].solution; }

  /// Allocates the largest workspace that an added solution needs. Error: exhausted.
  Status allocate_workspace();

  /// The result of screen().
  struct Screened {
    /// Time of the second of two runs, when the kernels of the solution are loaded.
    std::optional<double> seconds;
    std::string reason;  ///< why there is no time
  };
  /// Prepares a solution and runs it twice. Error: failed if the device no longer works.
  Result<Screened> screen(std::size_t i);

  enum class Check {
    right,
    wrong,   ///< an element is wrong
    failed,  ///< the GEMM could not be computed
  };
  /// The result of check().
  struct Checked {
    Check check = Check::right;
    std::string reason;  ///< what is wrong; empty if it is right
  };
  /// Computes the GEMM with a solution and checks thousands of elements. Error: as screen() and
  /// the device's calls.
  Result<Checked> check(std::size_t i);

  /// Returns the mean seconds of one GEMM, over as many queued ones as last `seconds`, after
  /// untimed ones that last `settling` seconds; at most 20,000 of each. nullopt: it failed. Error:
  /// as screen().
  Result<std::optional<double>> time(std::size_t i, double seconds, double settling);

 private:
  struct Candidate {
    Blas* library = nullptr;
    GemmAlgorithm algorithm;
    ProductSolution solution;
    std::unique_ptr<GemmPlan> plan;
    std::unique_ptr<Graph> graph;  ///< for short GEMMs, which the host cannot queue fast enough
    bool tried_graph = false;
    double usual_seconds = 0;  ///< time of one GEMM in the last run
  };

  ProductTrials(Device& device, Stream& stream, const GemmProblem& problem,
                const TuneGemmSettings& settings, GemmMatrices matrices)
      : device_(device),
        stream_(stream),
        problem_(problem),
        settings_(settings),
        matrices_(std::move(matrices)) {}

  GemmOperands operands(std::size_t set) const;
  /// Queues at least `products` GEMMs and returns their number.
  Result<std::size_t> queue(Candidate& candidate, std::size_t products);
  Status capture(Candidate& candidate);
  /// Error: the device no longer works after a failure.
  Status device_works();

  Device& device_;
  Stream& stream_;
  GemmProblem problem_;
  TuneGemmSettings settings_;
  GemmMatrices matrices_;
  Buffer workspace_, factors_;
  std::unique_ptr<Event> start_, stop_;
  std::vector<Candidate> candidates_;
  std::size_t next_ = 0;  ///< the next set of operands
  std::size_t graph_products_ = 0;
};

}  // namespace assay
