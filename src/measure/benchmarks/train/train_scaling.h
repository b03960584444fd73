// How the rate of a training grows with its ranks, and what is lost on the way.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "measure/grid/benchmark.h"

namespace assay {

/// Whether two cells' axes say the same training but for the ranks and how those share the work.
bool trains_the_same(std::span<const std::pair<std::string, std::string>> a,
                     std::span<const std::pair<std::string, std::string>> b);

/// For each cell of several ranks beside which the same was trained on one: its rate as a share of
/// so many times the rate of one rank, and of what is missing how much is exchange that no pass
/// hides, and how much is passes that are slower; and what a simulation says of more ranks. For
/// each cell of ddp beside which as many ranks trained alone at the same time: how much longer its
/// step is.
std::vector<Conclusion> scaling_conclusions(std::span<const CellValue> values);

}  // namespace assay
