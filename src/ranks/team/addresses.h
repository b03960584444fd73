// The addresses of this machine, and connections to other machines.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"

namespace assay {

/// The addresses of own_networks(), then loopback for ranks on this machine.
std::vector<std::string> own_addresses();

/// "10.0.0.1:29500,[fe00::1]:29500"
std::string with_port(const std::vector<std::string>& hosts, int port);

/// A connected TCP socket to a host name or address. Error: failed, with the system's message, or
/// because there was no answer within `seconds`.
Result<int> connect_to(const std::string& host, int port, double seconds);

/// Splits "a:1,[b]:2" into hosts and ports; invalid addresses are left out.
std::vector<std::pair<std::string, int>> parse_addresses(const std::string& text);

}  // namespace assay
