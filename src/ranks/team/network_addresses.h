// The addresses of a host, and which addresses of another host to try first.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace assay {

/// An address of one of this host's networks.
struct NetworkAddress {
  std::string text;  ///< "10.0.0.7", "2001:db8::7"
  std::array<std::uint8_t, 16> bytes = {};
  std::array<std::uint8_t, 16> mask = {};
};

/// The addresses of every interface that is up, IPv4 first; without loopback and link-local
/// addresses, which mean something different on every host.
std::vector<NetworkAddress> own_networks();

/// `theirs` in the order in which to try them: on the same host loopback first; then those on a
/// network that this host is also on. On different hosts, an address that both have, such as a
/// container bridge's, cannot lead to the other host and is left out.
std::vector<std::string> addresses_to_try(const std::vector<NetworkAddress>& ours,
                                          const std::vector<std::string>& theirs, bool same_host);

}  // namespace assay
