// Which network adapters a device should use: the ones nearest to it on PCIe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "machine/system/machine.h"

namespace assay {

struct NicNearness {
  std::size_t index = 0;  ///< in the list given
  int shared_bridges = 0;
  bool same_numa_node = false;
};

/// Ports of network adapters, by device name and port number, in the order of nearness to the
/// device at PCI address `pci`: most PCIe bridges in common, then the same NUMA node, then the
/// faster link, then as listed. With an empty `pci` only the link counts.
std::vector<NicNearness> by_nearness(const Machine& machine, std::string_view pci,
                                     const std::vector<std::pair<std::string, int>>& ports);

/// "behind the same PCIe switch", "on the same NUMA node", "elsewhere in the machine"
std::string_view describe(const NicNearness& nearness);

}  // namespace assay
