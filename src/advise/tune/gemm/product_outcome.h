// The outcome of tuning one GEMM, and its form in the journal.
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

/// A solution for a GEMM: an algorithm of a library, possibly with its parameters.
struct ProductSolution {
  std::string library;                ///< "hipblaslt"
  std::string algorithm;              ///< assay's name of the library's algorithm
  std::optional<std::int64_t> index;  ///< the library's index of the solution
  std::string solution, kernel;       ///< the library's names, if it has any

  bool operator==(const ProductSolution&) const = default;
};

/// A solution that was rejected, and why.
struct RefusedSolution {
  ProductSolution solution;
  std::string reason;
  bool wrong = false;  ///< true: its result was wrong; false: it failed
};

constexpr std::size_t most_first_times = 1000;

struct ProductOutcome {
  std::string problem;          ///< problem_text()
  std::string reason;           ///< why nothing could be measured; if set, all below is empty
  ProductSolution usual, best;  ///< `best` is `usual` unless `proven`
  /// The fastest solution of the search. If it differs from `best`, it was not proven faster.
  ProductSolution fastest;
  std::size_t solutions = 0;  ///< number of solutions that libraries offered
  std::size_t wrong = 0, failed = 0;
  std::size_t slow = 0;     ///< other solutions, too slow in their first run to be checked
  std::size_t untried = 0;  ///< other solutions, not run for lack of time
  /// The screening times of the solutions, relative to that of the default one, ascending and
  /// without wrong ones; at most most_first_times.
  std::vector<double> first_times;
  std::vector<RefusedSolution> refused;  ///< the first few
  bool proven = false;
  std::size_t pairs = 0;     ///< pairs of the proof; 0: nothing seemed faster
  double usual_seconds = 0;  ///< time of one GEMM: median over the proof, or over the search if
                             ///< there is no proof
  double fastest_seconds = 0;
  double gain = 1, gain_low = 1, gain_high = 1;  ///< gain of speed, with its 95% interval
  std::optional<double> floor_seconds;           ///< the least time that the device's roofs allow
  double spent_seconds = 0;

  double best_seconds() const { return proven ? fastest_seconds : usual_seconds; }
};

Json to_json(const ProductOutcome& outcome);
/// Parses an outcome of the journal. Error: usage if `json` is not one.
Result<ProductOutcome> outcome_from_json(const Json& json);

}  // namespace assay
