// Conclusions from several cells of `tensor_parallel`.
#pragma once

#include <span>
#include <vector>

#include "measure/grid/benchmark.h"

namespace assay {

/// For each cell of several ranks whose model was also measured on one rank: the speed-up, and the
/// share of a pass that is exposed communication. For each message that was measured with several
/// libraries: its time with each.
std::vector<Conclusion> tensor_conclusions(std::span<const CellValue> values);

}  // namespace assay
