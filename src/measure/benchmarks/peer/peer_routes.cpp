#include "measure/benchmarks/peer/peer_routes.h"

#include <algorithm>
#include <map>
#include <set>

namespace assay {
namespace {

/// The endpoint numbers that an end of a cell stands for.
std::vector<int> numbers_of(const Cell& cell, std::string_view axis,
                            std::span<const int> endpoints) {
  if (cell.text(axis) == "all") return {endpoints.begin(), endpoints.end()};
  return {static_cast<int>(cell.integer(axis))};
}

const Gpu* gpu_at(std::span<const Gpu> gpus, std::string_view pci) {
  const auto found =
      std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return gpu.pci == pci; });
  return found == gpus.end() || pci.empty() ? nullptr : &*found;
}

/// The number of active links to `peer`, and the number of all active links.
std::pair<double, double> links_to(const Gpu& gpu, std::string_view peer) {
  double there = 0, all = 0;
  for (const PeerLink& link : gpu.links) {
    if (!link.up) continue;
    ++all;
    there += link.peer == peer;
  }
  return {there, all};
}

}  // namespace

std::vector<Route> routes_of(std::string_view pattern, int from, int to,
                             std::span<const int> endpoints) {
  if (pattern == "pair") return {{from, to}};
  if (pattern == "both") return {{from, to}, {to, from}};
  std::vector<Route> routes;
  for (const int source : endpoints) {
    for (const int destination : endpoints) {
      if (source == destination || (pattern == "one_to_all" && source != from) ||
          (pattern == "all_to_one" && destination != to)) {
        continue;
      }
      routes.push_back({source, destination});
    }
  }
  return routes;
}

std::vector<Cell> expand_ends(const Cell& cell, std::span<const int> endpoints) {
  const std::string_view pattern = cell.text("pattern");
  const bool has_from = pattern != "all_to_one" && pattern != "all_to_all";
  const bool has_to = pattern != "one_to_all" && pattern != "all_to_all";
  if (!has_from || !has_to) {
    std::vector<Cell> cells;
    const Cell open = with_value(with_value(cell, "from", "all"), "to", "all");
    if (!has_from && !has_to) return {open};
    const std::string_view axis = has_from ? "from" : "to";
    for (const int end : numbers_of(cell, axis, endpoints)) {
      cells.push_back(with_value(open, axis, std::to_string(end)));
    }
    return cells;
  }
  const std::vector<int> sources = numbers_of(cell, "from", endpoints);
  const std::vector<int> destinations = numbers_of(cell, "to", endpoints);
  const bool chosen = sources.size() == 1 && destinations.size() == 1;
  std::vector<Cell> cells;
  std::set<std::pair<int, int>> taken;
  for (const int source : sources) {
    for (const int destination : destinations) {
      if (source == destination && !chosen)
        continue;  // if requested by name, keep it: unsupported() gives the reason
      const bool turn = pattern == "both" && source > destination;
      const int from = turn ? destination : source, to = turn ? source : destination;
      if (!taken.emplace(from, to).second) continue;
      cells.push_back(
          with_value(with_value(cell, "from", std::to_string(from)), "to", std::to_string(to)));
    }
  }
  return cells;
}

double links_at_once(std::span<const Gpu> gpus, std::span<const PciRoute> routes) {
  std::map<std::string, int> sent, received;  // copies over a switch, by device
  double straight = 0;
  int switched = 0;
  for (const PciRoute& route : routes) {
    const Gpu* from = gpu_at(gpus, route.from);
    const Gpu* to = gpu_at(gpus, route.to);
    if (from == nullptr || to == nullptr || from == to) return 0;
    if (links_to(*from, "switch").first > 0 && links_to(*to, "switch").first > 0) {
      ++sent[route.from];
      ++received[route.to];
      ++switched;
      continue;
    }
    const auto [there, all] = links_to(*from, route.to);
    if (there == 0) return 0;
    // An xGMI mesh has one link for each pair, and that link's rate is the limit.
    straight += from->vendor == "amd" ? there : there / all;
  }
  int busiest = 1;
  for (const auto& counts : {sent, received}) {
    for (const auto& [device, count] : counts) busiest = std::max(busiest, count);
  }
  return straight + static_cast<double>(switched) / busiest;
}

}  // namespace assay
