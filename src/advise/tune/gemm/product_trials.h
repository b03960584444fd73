// The solutions of one product, ready to run: checked, and timed on rotating operands.
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

class ProductTrials {
 public:
  /// Error: exhausted if its operands do not fit.
  static Result<ProductTrials> create(Device& device, Stream& stream, const GemmProblem& problem,
                                      const TuneGemmSettings& settings);

  void add(Blas& library, GemmAlgorithm algorithm);
  std::size_t size() const { return candidates_.size(); }
  const ProductSolution& solution(std::size_t i) const { return candidates_[i].solution; }

  /// Memory for the solutions that were added. Error: exhausted.
  Status allocate_workspace();

  /// Prepares a solution and runs it twice; seconds of the second time, when its kernels are
  /// loaded.
  struct Screened {
    std::optional<double> seconds;
    std::string reason;  ///< why there are none
  };
  /// Error: failed, if the device does not work any more.
  Result<Screened> screen(std::size_t i);

  enum class Check { right, wrong, failed };
  struct Checked {
    Check check = Check::right;
    std::string reason;
  };
  /// Computes the product and checks thousands of elements. Error: as screen().
  Result<Checked> check(std::size_t i);

  /// Seconds of one product, of as many queued as last `seconds`, after others that last `settling`
  /// seconds. Only after screen(). Empty: it failed. Error: as screen().
  Result<std::optional<double>> time(std::size_t i, double seconds, double settling);

 private:
  struct Candidate {
    Blas* library = nullptr;
    GemmAlgorithm algorithm;
    ProductSolution solution;
    std::unique_ptr<GemmPlan> plan;
    std::unique_ptr<Graph> graph;  ///< of short products: the host could not queue them in time
    bool tried_graph = false;
    double usual_seconds = 0;  ///< of one product, from its last run
  };

  ProductTrials(Device& device, Stream& stream, const GemmProblem& problem,
                const TuneGemmSettings& settings, GemmMatrices matrices)
      : device_(device),
        stream_(stream),
        problem_(problem),
        settings_(settings),
        matrices_(std::move(matrices)) {}

  GemmOperands operands(std::size_t set) const;
  /// Queues at least `products` and returns how many.
  Result<std::size_t> queue(Candidate& candidate, std::size_t products);
  Status capture(Candidate& candidate);
  /// Whether the device still computes after something failed.
  Status device_works();

  Device& device_;
  Stream& stream_;
  GemmProblem problem_;
  TuneGemmSettings settings_;
  GemmMatrices matrices_;
  Buffer workspace_, factors_;
  std::unique_ptr<Event> start_, stop_;
  std::vector<Candidate> candidates_;
  std::size_t next_ = 0;  ///< set of operands
  std::size_t graph_products_ = 0;
};

}  // namespace assay
