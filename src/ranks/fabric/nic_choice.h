// Chooses the network adapters for a device: the nearest ones on PCIe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "machine/system/machine.h"

namespace assay {

/// How near a port of a network adapter is to a device.
struct NicNearness {
  std::size_t index = 0;   ///< in the list given to by_nearness()
  int shared_bridges = 0;  ///< PCIe bridges above both
  bool same_numa_node = false;
};

/// Sorts ports of network adapters, given by device name and port number, by their distance to the
/// device at PCI address `pci`. The criteria are: most common PCIe bridges, the same NUMA node, the
/// faster link, and list order. With an empty `pci` only the link counts.
std::vector<NicNearness> by_nearness(const Machine& machine, std::string_view pci,
                                     const std::vector<std::pair<std::string, int>>& ports);

/// Returns "behind the same PCIe switch", "on the same NUMA node" or "elsewhere in the machine".
std::string_view describe(const NicNearness& nearness);

}  // namespace assay
