// The addresses at which other ranks reach this one, and lists of addresses as text.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace assay {

/// Returns this host's addresses: IPv4, then IPv6, without link-local ones, then 127.0.0.1 for
/// ranks on this host.
std::vector<std::string> own_addresses();

/// Returns "10.0.0.1:29500,[2001:db8::1]:29500": each host with the port, IPv6 in brackets.
std::string format_addresses(const std::vector<std::string>& hosts, int port);

/// Splits "a:1,[b]:2" into hosts (names or addresses, which are not checked) and ports. Entries
/// without a host or without a port from 1 to 65535 are left out.
std::vector<std::pair<std::string, int>> parse_addresses(const std::string& text);

}  // namespace assay
