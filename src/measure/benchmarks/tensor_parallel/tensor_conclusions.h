// Draws conclusions from several cells of the benchmark `tensor_parallel`.
#pragma once

#include <span>
#include <vector>

#include "measure/grid/benchmark.h"

namespace assay {

/// Draws two kinds of conclusions. The first compares each cell of several ranks with one rank, if
/// the same model was measured on it: the speed-up, and the share of a pass in which ranks wait for
/// each other (exposed communication). The second compares libraries: the time of a message, which
/// is the first collective of a pass, with each library that was measured.
std::vector<Conclusion> tensor_conclusions(std::span<const CellValue> values);

}  // namespace assay
