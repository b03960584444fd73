// Loads libibverbs at run time, and lists the ports of its devices.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "ranks/fabric/verbs_abi.h"

namespace assay::verbs {

/// An active port of an open device.
struct Port {
  std::shared_ptr<Context> context;
  std::string device;  ///< "mlx5_0"
  std::uint8_t number = 1;
  PortAttributes attributes{};
  int read_depth = 1;         ///< outstanding reads per queue pair that this end initiates
  int served_read_depth = 1;  ///< reads that a queue pair can serve at a time
  /// The GID in use; index -1: none (InfiniBand within a subnet needs none).
  int gid_index = -1;
  Gid gid{};
  std::string gid_type;  ///< "RoCE v2"

  bool ethernet() const { return attributes.link_layer == link_ethernet; }
  int mtu_bytes() const { return 128 << attributes.active_mtu; }
};

/// Names a port: "mlx5_0", or "mlx5_0 port 2".
std::string label(const Port& port);

class Library {
 public:
  /// Loads libibverbs.so.1, or the file named by ASSAY_VERBS_LIBRARY. Error: unavailable.
  static Result<std::shared_ptr<const Library>> open();

  const VerbsApi& api() const { return api_; }
  /// Returns every active port, in the order of the library. For an Ethernet port the routable RoCE
  /// v2 address is chosen (IPv4 before IPv6), otherwise the best address that exists; without any
  /// the port is left out. Error: unavailable, with the reason: no device, no permission to open
  /// one, no active port, no address.
  Result<std::vector<Port>> active_ports() const;
  /// Makes the port use the address at `index` of its table. Error: usage, listing the addresses.
  Status use_gid(Port& port, int index) const;

 private:
  VerbsApi api_{};
};

/// The active ports of this machine. They are searched once per process, because the queue pairs of
/// all cells share the open devices.
struct Ports {
  std::shared_ptr<const Library> library;
  std::vector<Port> ports;
};
const Result<Ports>& ports_here();

/// Returns the port that a user names: "mlx5_0", the first active port of this device, or
/// "mlx5_0:2". Error: usage, listing the active ports.
Result<Port> port_named(const std::vector<Port>& ports, std::string_view name);

/// Returns the error "mlx5_0: creating a queue pair: Cannot allocate memory (errno 12)".
Error verbs_error(const std::string& device, const std::string& doing, int code);

}  // namespace assay::verbs
