// Lists the addresses of a host, and orders the addresses of another host by which to try first.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace assay {

/// An address of one of this host's networks.
struct NetworkAddress {
  std::string text;  ///< "10.0.0.7", "2001:db8::7"
  /// The address and the mask of its network in network byte order. IPv4 uses the first 4 bytes.
  std::array<std::uint8_t, 16> bytes = {};
  std::array<std::uint8_t, 16> mask = {};
};

/// Returns the addresses of every interface that is up, IPv4 first. Loopback and link-local
/// addresses are left out, because they mean something different on every host.
std::vector<NetworkAddress> own_networks();

/// Returns `theirs` in the order in which to try them: on the same host loopback first, then
/// addresses on a network that this host is also on, then the rest. An address that two hosts have,
/// such as a container bridge's, cannot lead from one to the other and is left out.
std::vector<std::string> addresses_to_try(const std::vector<NetworkAddress>& ours,
                                          const std::vector<std::string>& theirs, bool same_host);

}  // namespace assay
