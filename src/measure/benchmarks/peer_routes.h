// Who copies to whom in a cell of the benchmark `peer`, and which cells "all" stands for. Pure
// functions.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/cell.h"
#include "machine/system/gpu.h"

namespace assay {

/// One copy, between the numbers of two endpoints: devices, or the CPUs of a list.
struct Route {
  int from = 0, to = 0;
  bool operator==(const Route&) const = default;
};

/// The copies of a pattern between `endpoints`, all at once. `from` and `to` count only where the
/// pattern has them: one_to_all has no `to`, all_to_one no `from`, all_to_all neither.
std::vector<Route> routes_of(std::string_view pattern, int from, int to,
                             std::span<const int> endpoints);

/// The cells behind `from=all` and `to=all`, none of them twice: no endpoint copies to itself, a
/// bidirectional pair stands in its ascending order, and an end the pattern does not have is "all".
std::vector<Cell> expand_ends(const Cell& cell, std::span<const int> endpoints);

/// The ends of a copy as PCI addresses.
struct PciRoute {
  std::string from, to;
};

/// How many times the rate of Limit::peer_link copies of equal size on these routes may reach
/// together. Over a switch that is set by the busiest device, on a mesh every pair has a link of
/// its own, and NVLinks that go straight from one GPU to several are shared out among them. 0 if
/// not all routes are known to go over such links.
double links_at_once(std::span<const Gpu> gpus, std::span<const PciRoute> routes);

}  // namespace assay
