// Finds the fastest solution of one matrix product among all that the libraries have, and proves
// that it is faster than what they choose themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "advise/tune/gemm/product_outcome.h"
#include "advise/tune/race.h"
#include "compute/device/device.h"
#include "compute/vendor/blas/blas.h"
#include "compute/vendor/blas/matrix_fill.h"

namespace assay {

struct TuneGemmSettings {
  std::string library = "auto";  ///< as BlasProvider::allowed_by() takes it
  std::size_t workspace_bytes = std::size_t{32} << 20;
  int most_solutions = 4096;  ///< of each library
  std::uint64_t rotate_bytes =
      0;  ///< operands rotate through so many; 0: twice the device's caches
  Inputs inputs = Inputs::normal;
  /// To screen the solutions of one product; those for which there is no time left stay untried.
  double screening_box_seconds = 60;
  /// The shortest timed run of the race, and the longest, which ends
  /// the search and makes the proof. A device takes tens of milliseconds to reach the clock that a
  /// solution's own power draw leaves it: ContestLimits in compute/autotune/contest.h.
  double screening_seconds = 0.0015, proof_seconds = 0.1;
  std::size_t pairs = 12;  ///< of the proof: even, so that each solution comes first equally often
  /// To check the search: no limit of time, and every solution in the race runs once for
  /// `proof_seconds`, so that no short run decides.
  bool brute_force = false;
  std::uint64_t seed = 1;
};

/// How solutions that are right race. A run of effort 1 lasts `shortest_run_seconds(settings)`.
RaceRules race_rules(const TuneGemmSettings& settings);
double shortest_run_seconds(const TuneGemmSettings& settings);

class ProductTrials;

class ProductTuner {
 public:
  /// `device` and `stream` must outlive it.
  ProductTuner(Device& device, Stream& stream, TuneGemmSettings settings);
  ~ProductTuner();

  /// Called with what is done now ("checking 120 of 840"); true asks to stop.
  using Report = std::function<bool(std::string_view doing)>;

  /// Whatever this product makes libraries do, the outcome says; its `reason` if none computes it.
  /// Error: interrupted; failed, if the device itself does not work any more.
  Result<ProductOutcome> tune(const GemmProblem& problem, const Report& report);

  const TuneGemmSettings& settings() const { return settings_; }
  /// The library, opened once. Error: as BlasProvider::open.
  Result<Blas*> library(const BlasProvider& provider);

 private:
  /// Everything that can compute a product, or why there is nothing.
  struct Added {
    std::unique_ptr<ProductTrials> trials;
    std::string reason;
  };
  /// Error: failed, if the device does not work.
  Result<Added> add_solutions(const GemmProblem& problem);

  Device& device_;
  Stream& stream_;
  TuneGemmSettings settings_;
  std::map<std::string, std::unique_ptr<Blas>, std::less<>> libraries_;
};

}  // namespace assay
