// What several cells of `tensor_parallel` say together.
#pragma once

#include <span>
#include <vector>

#include "measure/grid/benchmark.h"

namespace assay {

/// For each cell of several ranks beside which one rank computed the same: how many times as fast
/// they are, and how much of a pass they wait for each other. For each message that ranks exchanged
/// through several libraries: its time through each.
std::vector<Conclusion> tensor_conclusions(std::span<const CellValue> values);

}  // namespace assay
