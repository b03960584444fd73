// The addresses at which other ranks reach this one, and lists of addresses as text.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace assay {

/// Returns the addresses of own_networks(), then loopback for ranks on this machine.
std::vector<std::string> own_addresses();

/// "10.0.0.1:29500,[fe00::1]:29500"
std::string with_port(const std::vector<std::string>& hosts, int port);

/// Splits "a:1,[b]:2" into hosts and ports; invalid addresses are left out.
std::vector<std::pair<std::string, int>> parse_addresses(const std::string& text);

}  // namespace assay
