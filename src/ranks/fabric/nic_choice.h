// Which network adapters a device should use: the nearest on PCIe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "machine/system/machine.h"

namespace assay {

struct NicNearness {
  std::size_t index = 0;  ///< in the given list
  int shared_bridges = 0;
  bool same_numa_node = false;
};

/// Ports of network adapters, by device name and port number, the nearest to the device at PCI
/// address `pci` first: most common PCIe bridges, then the same NUMA node, then the faster link,
/// then list order. With an empty `pci` only the link counts.
std::vector<NicNearness> by_nearness(const Machine& machine, std::string_view pci,
                                     const std::vector<std::pair<std::string, int>>& ports);

/// "behind the same PCIe switch", "on the same NUMA node", "elsewhere in the machine"
std::string_view describe(const NicNearness& nearness);

}  // namespace assay
