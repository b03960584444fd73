// What a benchmark of pairs says of all its pairs together: which links and which ends are slow.
#pragma once

#include <span>
#include <vector>

#include "measure/benchmarks/benchmark.h"

namespace assay {

/// The cells are grouped by everything but their axes `from` and `to`; each group of rates is a
/// matrix, and each link or end in it that is clearly slower than the rest (statistics/odd_links.h)
/// gives a conclusion, whose value is its share of the median. Latencies (`metric=latency`) are
/// left out: they are no rates.
std::vector<Conclusion> odd_link_conclusions(std::span<const CellValue> values);

}  // namespace assay
