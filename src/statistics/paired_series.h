// The differences of pairs, and what may be asked of their mean.
#pragma once

#include <cstddef>
#include <vector>

namespace assay {

/// B minus A of each pair of units that were measured side by side, by the pair's number, which
/// increases. Cells of one campaign share pairs; a cell may lack some.
struct PairedSeries {
  std::vector<std::size_t> pairs;
  std::vector<double> differences;  ///< of logarithms of times: positive means that B is slower
};

/// What a test asks of a mean.
enum class Alternative {
  different,  ///< whether it differs from a bound, on either side
  above,      ///< whether it lies above the bound
  below,      ///< whether it lies below the bound
};

}  // namespace assay
