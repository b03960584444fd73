// The copies in a cell of the benchmark `peer`, and the cells that "all" expands to. Pure
// functions.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "machine/system/gpu.h"
#include "results/record/cell.h"

namespace assay {

/// One copy between two endpoints, which are numbers of devices or indices into a list of CPUs.
struct Route {
  int from = 0, to = 0;
  bool operator==(const Route&) const = default;
};

/// The simultaneous copies of a pattern between `endpoints`. `from` and `to` are used only if the
/// pattern has such an end: "pair" (one copy) and "both" (one in each direction) have both,
/// "one_to_all" has no `to`, "all_to_one" no `from`, "all_to_all" neither.
std::vector<Route> routes_of(std::string_view pattern, int from, int to,
                             std::span<const int> endpoints);

/// The distinct cells of `from=all` and `to=all`: a bidirectional pair is in ascending order, and
/// an end the pattern does not use is "all". No endpoint copies to itself, unless the cell names
/// the same one twice, which is then refused with a reason.
std::vector<Cell> expand_ends(const Cell& cell, std::span<const int> endpoints);

/// The ends of a copy as PCI addresses.
struct PciRoute {
  std::string from, to;
};

/// Upper bound on the total rate of equal copies on these routes, as a multiple of the roof of
/// Limit::peer_link (results/record/work.h). Over a switch, the busiest device limits the rate. In
/// AMD's mesh, every pair has its own links. Direct NVLinks of one GPU to several others are
/// divided among them. 0 unless all routes are known to use such links.
double links_at_once(std::span<const Gpu> gpus, std::span<const PciRoute> routes);

}  // namespace assay
