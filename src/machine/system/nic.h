// Ports of RDMA network adapters, from /sys/class/infiniband.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "machine/system/machine.h"

namespace assay {

struct Nic {
  std::string name;  ///< "mlx5_0"
  int port = 1;
  std::string pci;         ///< "0000:3c:00.0"; empty: a software device
  std::string interface;   ///< "eth2"; empty: none
  std::string state;       ///< "ACTIVE", "DOWN"
  std::string link_layer;  ///< "Ethernet", "InfiniBand"
  std::optional<double> gigabits_per_second;
  std::optional<int> numa_node;

  bool active() const { return state == "ACTIVE"; }
  bool ethernet() const { return link_layer == "Ethernet"; }
  std::filesystem::path port_folder() const;  ///< "sys/class/infiniband/mlx5_0/ports/1"
};

/// Returns every port of every adapter, sorted by name.
std::vector<Nic> read_nics(const Machine& machine);

/// Names an adapter's port: "mlx5_0", or "mlx5_0 port 2".
std::string label(const Nic& nic);

}  // namespace assay
