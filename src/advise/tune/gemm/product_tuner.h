// Finds the fastest solution of one GEMM among all that the libraries offer, and tests whether it
// is faster than the libraries' default. A product in the names below is a GEMM.
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

/// How GEMMs are tuned.
struct TuneGemmSettings {
  std::string library = "auto";  ///< a value that BlasProvider::allowed_by() accepts
  std::size_t workspace_bytes = std::size_t{32} << 20;  ///< most that a solution may need
  int most_solutions = 4096;       ///< upper limit of the solutions tried of each library
  std::uint64_t rotate_bytes = 0;  ///< bytes of operands in rotation; 0: twice the device's caches
  Inputs inputs = Inputs::normal;
  /// Time limit for screening the solutions of one GEMM, from which on none is tried if one has
  /// worked; ProductOutcome::untried counts the others.
  double screening_box_seconds = 60;
  /// The durations of the shortest run of the race and of the longest one, which is also used for
  /// the proof. A device takes tens of milliseconds to reach the clock that a solution's own power
  /// draw leaves it: ContestLimits in compute/autotune/contest.h.
  double screening_seconds = 0.0015, proof_seconds = 0.1;
  std::size_t pairs = 12;  ///< pairs of the proof; an even number, so that each solution comes
                           ///< first equally often
  /// For validating the search: no time limit, and every correct solution but those that screening
  /// found too slow (ProductOutcome::slow) runs for `proof_seconds`.
  bool brute_force = false;
  std::uint64_t seed = 1;  ///< seed of the operands
};

/// Returns the rules of the race between correct solutions. A run of effort 1 lasts
/// `shortest_run_seconds(settings)`.
RaceRules race_rules(const TuneGemmSettings& settings);
double shortest_run_seconds(const TuneGemmSettings& settings);

class ProductTrials;

class ProductTuner {
 public:
  /// `device` and `stream` must outlive the tuner.
  ProductTuner(Device& device, Stream& stream, TuneGemmSettings settings);
  ~ProductTuner();

  /// Progress callback with the current activity ("checking 120 of 840"); it returns true to stop
  /// the tuning.
  using Report = std::function<bool(std::string_view doing)>;

  /// Tunes one GEMM. Failures of libraries become part of the outcome, and its `reason` if no
  /// solution works. Error: interrupted if `report` stops it; as the device's calls if the device
  /// no longer works.
  Result<ProductOutcome> tune(const GemmProblem& problem, const Report& report);

  /// Returns the settings with `rotate_bytes` filled in, and with short runs on an emulated device.
  const TuneGemmSettings& settings() const { return settings_; }
  /// Returns the library of `provider`, which is opened on first use and kept. Error: as
  /// BlasProvider::open() (compute/vendor/blas/blas.h).
  Result<Blas*> library(const BlasProvider& provider);

 private:
  /// All solutions of a GEMM, or the reason why there is none.
  struct Added {
    std::unique_ptr<ProductTrials> trials;
    std::string reason;
  };
  /// Collects all solutions that the libraries offer for a GEMM. Error: of the device, except
  /// exhausted.
  Result<Added> add_solutions(const GemmProblem& problem);

  Device& device_;
  Stream& stream_;
  TuneGemmSettings settings_;
  std::map<std::string, std::unique_ptr<Blas>, std::less<>> libraries_;
};

}  // namespace assay
