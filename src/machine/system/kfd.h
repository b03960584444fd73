// The GPU nodes of amdkfd's topology in /sys/class/kfd: what the compute driver knows about each
// device that HIP will see, partitions included.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/system/machine.h"

namespace assay {

struct KfdLink {
  int type = 0;  ///< 2 PCIe, 11 xGMI
  int node_to = 0;
  int weight = 0;                ///< 15: one xGMI hop
  double max_bandwidth_mbs = 0;  ///< MB/s; 0: not stated
};

struct KfdNode {
  int node = 0;           ///< its number in the topology
  std::string arch;       ///< "gfx942"
  std::string pci;        ///< address of function 0 of the socket, "0000:c1:00.0"
  int render_minor = -1;  ///< 128 of /dev/dri/renderD128; -1: unknown
  int compute_units = 0;  ///< 0: unknown
  int dies = 0;           ///< XCDs; 0: unknown
  std::string hive;       ///< GPUs of one hive reach each other over xGMI; "0": none
  std::vector<KfdLink> links;
};

/// Returns "gfx942" for 90402: major*10000 + minor*100 + stepping, with the stepping in hexadecimal
/// (90010 is gfx90a). Empty below 1 and above 999999.
std::string arch_of_gfx_target(long long version);

struct KfdTopology {
  std::vector<KfdNode> nodes;  ///< GPUs in the order of the topology, which is HIP's
  /// Number of nodes whose properties cannot be read: KFD withholds those of GPUs outside this
  /// process's control group.
  int withheld = 0;
};

KfdTopology read_kfd_topology(const Machine& machine);

/// Returns only the nodes of read_kfd_topology().
std::vector<KfdNode> read_kfd_nodes(const Machine& machine);

}  // namespace assay
