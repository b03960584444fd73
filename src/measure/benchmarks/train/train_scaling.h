// Scaling of a training with the number of ranks, and the reasons for lost efficiency.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "measure/grid/benchmark.h"

namespace assay {

/// Returns whether two cells, given by their axes and values, are the same training, apart from the
/// number of ranks and how these divide the work and communicate.
bool trains_the_same(std::span<const std::pair<std::string, std::string>> a,
                     std::span<const std::pair<std::string, std::string>> b);

/// Conclusions for each cell of several ranks whose training was also measured on one rank. The
/// efficiency is the rate divided by the number of ranks times the rate of one. Further figures are
/// how much of the loss is exposed communication, how much is slower compute, and the simulated
/// efficiency on more ranks. For each ddp cell for which the same number of ranks also trained
/// alone at the same time: how much longer its step is.
std::vector<Conclusion> scaling_conclusions(std::span<const CellValue> values);

}  // namespace assay
