// Conclusions about all pairs of a benchmark with the axes `from` and `to`: which links and which
// ends are slow.
#pragma once

#include <span>
#include <vector>

#include "measure/grid/benchmark.h"

namespace assay {

/// Cells are grouped by all axes except `from` and `to`, and each group of rates forms a matrix.
/// Each link or end that is clearly slower than the rest (statistics/odd_links.h) gives a
/// conclusion with its share of the median. Latencies (`metric=latency`) are left out because they
/// are not rates.
std::vector<Conclusion> odd_link_conclusions(std::span<const CellValue> values);

}  // namespace assay
