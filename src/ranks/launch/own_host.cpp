#include "ranks/launch/own_host.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "core/time_limit.h"
#include "ranks/team/network_addresses.h"
#include "ranks/team/rendezvous.h"

namespace assay {
namespace {

/// "gpu7" and "gpu7.cluster" are the same machine; "gpu7.a" and "gpu7.b" may be two.
bool same_name(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const std::string& longer = a.size() < b.size() ? b : a;
  const std::string& shorter = a.size() < b.size() ? a : b;
  return !shorter.empty() && shorter.find('.') == std::string::npos &&
         longer.starts_with(shorter + ".");
}

bool is_own(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text = {};
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    if (ntohl(v4.sin_addr.s_addr) >> 24 == 127) return true;
    ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  } else if (address.sa_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    if (IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr)) return true;
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  }
  const std::vector<NetworkAddress> networks = own_networks();
  return std::any_of(networks.begin(), networks.end(),
                     [&](const NetworkAddress& own) { return own.text == text.data(); });
}

bool leads_here(const std::string& name) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return false;
  bool own = false;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    own = own || is_own(*at->ai_addr);
  }
  ::freeaddrinfo(found);
  return own;
}

}  // namespace

bool is_this_machine(const std::string& host) {
  const std::string name = host.substr(host.find('@') + 1);  // npos + 1 is 0
  if (name == "localhost" || same_name(name, host_name())) return true;
  constexpr double patience = 10;  // seconds
  return within<bool>(patience, [=] { return leads_here(name); }).value_or(false);
}

}  // namespace assay
