#include "ranks/team/network_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

namespace assay {
namespace {

using Bytes = std::array<std::uint8_t, 16>;

/// Returns the address in a sockaddr: 4 bytes and zeros, or 16 bytes. Nullopt for other families.
std::optional<Bytes> bytes_of(const sockaddr* address) {
  Bytes bytes = {};
  if (address == nullptr) return std::nullopt;
  if (address->sa_family == AF_INET) {
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, 4);
  } else if (address->sa_family == AF_INET6) {
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, 16);
  } else {
    return std::nullopt;
  }
  return bytes;
}

bool is_v6(const std::string& text) {
  return text.find(':') != std::string::npos;
}

bool link_local(const Bytes& bytes, bool v6) {
  return v6 ? bytes[0] == 0xFE && (bytes[1] & 0xC0) == 0x80 : bytes[0] == 169 && bytes[1] == 254;
}

/// Returns the elements for which `comes_first` is true, then the others, with the order within
/// each part kept.
template <typename T, typename Predicate>
std::vector<T> in_two_parts(const std::vector<T>& all, Predicate comes_first) {
  std::vector<T> order;
  for (const bool first : {true, false}) {
    for (const T& one : all) {
      if (comes_first(one) == first) order.push_back(one);
    }
  }
  return order;
}

bool shares_network(const NetworkAddress& ours, const std::string& theirs) {
  Bytes bytes = {};
  const int family = is_v6(theirs) ? AF_INET6 : AF_INET;
  if (is_v6(ours.text) != is_v6(theirs)) return false;
  if (::inet_pton(family, theirs.c_str(), bytes.data()) != 1) return false;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if ((bytes[i] & ours.mask[i]) != (ours.bytes[i] & ours.mask[i])) return false;
  }
  return true;
}

}  // namespace

std::vector<NetworkAddress> own_networks() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owned(list, &::freeifaddrs);
  std::vector<NetworkAddress> addresses;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    const std::optional<Bytes> bytes = bytes_of(entry->ifa_addr);
    if (!bytes || (entry->ifa_flags & IFF_UP) == 0 || (entry->ifa_flags & IFF_LOOPBACK) != 0) {
      continue;
    }
    const bool v6 = entry->ifa_addr->sa_family == AF_INET6;
    if (link_local(*bytes, v6)) continue;
    std::array<char, INET6_ADDRSTRLEN> text = {};
    ::inet_ntop(v6 ? AF_INET6 : AF_INET, bytes->data(), text.data(), text.size());
    // An address without a mask is a network by itself.
    Bytes whole;
    whole.fill(0xFF);
    addresses.push_back({text.data(), *bytes, bytes_of(entry->ifa_netmask).value_or(whole)});
  }
  return in_two_parts(addresses,
                      [](const NetworkAddress& address) { return !is_v6(address.text); });
}

std::vector<std::string> addresses_to_try(const std::vector<NetworkAddress>& ours,
                                          const std::vector<std::string>& theirs, bool same_host) {
  std::vector<std::string> order;
  for (const std::string& address : theirs) {
    const bool mine = std::any_of(ours.begin(), ours.end(),
                                  [&](const NetworkAddress& own) { return own.text == address; });
    if (same_host || !mine) order.push_back(address);
  }
  order = in_two_parts(order, [&](const std::string& address) {
    return std::any_of(ours.begin(), ours.end(),
                       [&](const NetworkAddress& own) { return shares_network(own, address); });
  });
  if (same_host) order.insert(order.begin(), {"127.0.0.1", "::1"});
  return order;
}

}  // namespace assay
