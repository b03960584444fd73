// The outcome of tuning one GEMM (a product in the names below), and its JSON in the journal of the
// tuning (gemm_journal.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compute/vendor/blas/gemm_problem.h"
#include "core/json_fwd.h"
#include "core/result.h"

namespace assay {

/// A solution for a GEMM: one algorithm of one library, with certain parameters if the algorithm
/// has any.
struct ProductSolution {
  std::string library;    ///< "hipblaslt"
  std::string algorithm;  ///< GemmAlgorithm::name (compute/vendor/blas/blas.h), "algo=66 tile=20";
                          ///< it includes parameters
  std::optional<std::int64_t> index;  ///< the library's index of the solution; empty: it has none
  std::string solution, kernel;  ///< the library's names of the solution and its kernel, or empty

  bool operator==(const ProductSolution&) const = default;
};

/// A solution that was rejected, and why.
struct RefusedSolution {
  ProductSolution solution;
  std::string reason;
  bool wrong = false;  ///< true: its result was wrong; false: it failed
};

constexpr std::size_t most_first_times = 1000;

/// What the tuning of one GEMM found.
struct ProductOutcome {
  std::string problem;  ///< the GEMM as problem_text() writes it
  /// Why the tuning has no result; empty: it has a result. If set, `problem`, `spent_seconds` and
  /// the numbers of solutions are meaningful; of these, `problem` and `spent_seconds` are stored.
  std::string reason;
  /// `usual` is the default: the first correct solution in the libraries' order. `best` is
  /// `fastest` if `proven`, otherwise `usual`.
  ProductSolution usual, best;
  ProductSolution fastest;            ///< the fastest correct solution of the search
  std::size_t solutions = 0;          ///< number of solutions that libraries offered
  std::size_t wrong = 0, failed = 0;  ///< numbers of solutions that were rejected for this reason
  std::size_t slow = 0;     ///< number of solutions that screening found too slow to check
  std::size_t untried = 0;  ///< number of solutions that were not run for lack of time
  /// The screening times of the solutions divided by that of `usual`, ascending and without
  /// rejected solutions; at most most_first_times.
  std::vector<double> first_times;
  std::vector<RefusedSolution> refused;  ///< the first eight wrong and the first eight failed ones
  bool proven = false;                   ///< `fastest` is proven faster than `usual`
  std::size_t pairs = 0;  ///< pairs of runs in the proof; 0: no proof, because `fastest` is `usual`
  /// Seconds of one GEMM with `usual`: the median over its runs in the proof, or, without a proof,
  /// over three runs after the search.
  double usual_seconds = 0;
  double fastest_seconds = 0;  ///< the same with `fastest`
  /// The speed of `fastest` divided by that of `usual`, with its 95% interval; 1 without a proof.
  double gain = 1, gain_low = 1, gain_high = 1;
  /// Lower limit of the seconds of one GEMM, by the roofline; empty: the peaks are unknown.
  std::optional<double> floor_seconds;
  double spent_seconds = 0;  ///< seconds that the tuning of this GEMM took

  double best_seconds() const { return proven ? fastest_seconds : usual_seconds; }
};

Json to_json(const ProductOutcome& outcome);
/// Parses an outcome of the journal. Error: usage if `json` is no outcome.
Result<ProductOutcome> outcome_from_json(const Json& json);

}  // namespace assay
