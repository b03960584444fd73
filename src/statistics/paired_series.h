// The differences of pairs, and the hypotheses about their mean.
#pragma once

#include <cstddef>
#include <vector>

namespace assay {

/// B minus A for each pair of units that were measured side by side, with the pairs' numbers,
/// ascending. Cells of one campaign share pairs; a cell may lack some.
struct PairedSeries {
  std::vector<std::size_t> pairs;  ///< number of each difference's pair
  /// Differences of logarithms of times: positive means that B is slower.
  std::vector<double> differences;
};

/// The alternative hypothesis about a mean.
enum class Alternative {
  different,  ///< it differs from a bound, on either side
  above,      ///< it is above the bound
  below,      ///< it is below the bound
};

}  // namespace assay
