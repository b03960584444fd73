// Which addresses a host has, and which of another host's to try first.
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

/// Of every interface that is up, IPv4 first; neither loopback nor link-local ones, which mean
/// something else on every host.
std::vector<NetworkAddress> own_networks();

/// `theirs` in the order in which to try them: on the same host loopback before all else; then
/// those on a network that is also ours. An address that is ours as well, such as a container
/// bridge's, cannot lead to another host and is left out there.
std::vector<std::string> addresses_to_try(const std::vector<NetworkAddress>& ours,
                                          const std::vector<std::string>& theirs, bool same_host);

}  // namespace assay
