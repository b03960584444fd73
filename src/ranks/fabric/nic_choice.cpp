#include "ranks/fabric/nic_choice.h"

#include <algorithm>
#include <tuple>

#include "machine/system/fact_source.h"
#include "machine/system/nic.h"
#include "machine/system/pci.h"

namespace assay {

std::vector<NicNearness> by_nearness(const Machine& machine, std::string_view pci,
                                     const std::vector<std::pair<std::string, int>>& ports) {
  const std::vector<Nic> nics = read_nics(machine);
  const auto node =
      pci.empty() ? std::nullopt : read_number(machine, pci_folder(pci) / "numa_node");
  std::vector<NicNearness> order;
  std::vector<double> rates;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    order.push_back({.index = i});
    rates.push_back(0);
    const auto nic = std::find_if(nics.begin(), nics.end(), [&](const Nic& one) {
      return one.name == ports[i].first && one.port == ports[i].second;
    });
    if (nic == nics.end()) continue;
    rates.back() = nic->gigabits_per_second.value_or(0);
    if (pci.empty() || nic->pci.empty()) continue;
    order.back().shared_bridges = shared_bridges(machine, pci, nic->pci);
    order.back().same_numa_node = node && *node >= 0 && nic->numa_node == *node;
  }
  std::stable_sort(order.begin(), order.end(), [&](const NicNearness& a, const NicNearness& b) {
    return std::tuple(a.shared_bridges, a.same_numa_node, rates[a.index]) >
           std::tuple(b.shared_bridges, b.same_numa_node, rates[b.index]);
  });
  return order;
}

std::string_view describe(const NicNearness& nearness) {
  if (nearness.shared_bridges >= pci_switch_depth) return "behind the same PCIe switch";
  return nearness.same_numa_node ? "on the same NUMA node" : "elsewhere in the machine";
}

}  // namespace assay
