// What tuning one matrix product found, and how it is kept between runs.
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

/// One solution of one library.
struct ProductSolution {
  std::string library;                ///< "hipblaslt"
  std::string algorithm;              ///< as the library's algorithms are named here
  std::optional<std::int64_t> index;  ///< the library's own number
  std::string solution, kernel;       ///< the library's own names, where it has them

  bool operator==(const ProductSolution&) const = default;
};

/// A solution that is out, and why.
struct RefusedSolution {
  ProductSolution solution;
  std::string reason;
  bool wrong = false;  ///< it computed something else; else it failed
};

constexpr std::size_t most_first_times = 1000;

struct ProductOutcome {
  std::string problem;          ///< problem_text()
  std::string reason;           ///< why nothing could be measured; then all below is empty
  ProductSolution usual, best;  ///< `best` is `usual` unless `proven`
  /// The fastest in the search. If it is not `best`, it could not be proven to be faster.
  ProductSolution fastest;
  std::size_t solutions = 0;  ///< that libraries offered, of which these are out:
  std::size_t wrong = 0, failed = 0;
  std::size_t slow = 0;     ///< of the others, not looked at a second time
  std::size_t untried = 0;  ///< for want of time
  /// First times of the solutions over that of the usual one, wrong ones left out, ascending; at
  /// most most_first_times.
  std::vector<double> first_times;
  std::vector<RefusedSolution> refused;  ///< the first few
  bool proven = false;
  std::size_t pairs = 0;     ///< of the proof; 0: nothing seemed faster
  double usual_seconds = 0;  ///< of one product: median over the proof or, without one, the search
  double fastest_seconds = 0;
  double gain = 1, gain_low = 1, gain_high = 1;  ///< of speed, with its 95% interval
  std::optional<double> floor_seconds;           ///< the least that the device's roofs allow
  double spent_seconds = 0;

  double best_seconds() const { return proven ? fastest_seconds : usual_seconds; }
};

Json to_json(const ProductOutcome& outcome);
/// Error: usage, if it is not one.
Result<ProductOutcome> outcome_from_json(const Json& json);

}  // namespace assay
