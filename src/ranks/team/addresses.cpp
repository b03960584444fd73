#include "ranks/team/addresses.h"

#include <fmt/format.h>

#include "core/units.h"
#include "ranks/team/network_addresses.h"

namespace assay {
std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  for (const NetworkAddress& network : own_networks()) addresses.push_back(network.text);
  addresses.emplace_back("127.0.0.1");
  return addresses;
}

std::string format_addresses(const std::vector<std::string>& hosts, int port) {
  std::string text;
  for (const std::string& host : hosts) {
    const bool six = host.find(':') != std::string::npos;
    text += fmt::format("{}{}{}{}:{}", text.empty() ? "" : ",", six ? "[" : "", host,
                        six ? "]" : "", port);
  }
  return text;
}

std::vector<std::pair<std::string, int>> parse_addresses(const std::string& text) {
  std::vector<std::pair<std::string, int>> addresses;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t colon = item.rfind(':');
    if (colon == std::string::npos) continue;
    const auto port = parse_integer(item.substr(colon + 1));
    std::string host = item.substr(0, colon);
    if (host.size() > 1 && host.front() == '[') host = host.substr(1, host.size() - 2);
    if (!port.ok() || *port == 0 || *port > 65535 || host.empty()) continue;
    addresses.emplace_back(std::move(host), static_cast<int>(*port));
  }
  return addresses;
}

}  // namespace assay
