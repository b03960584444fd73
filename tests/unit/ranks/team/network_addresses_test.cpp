#include "ranks/team/network_addresses.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::ElementsAre;

NetworkAddress address(const std::string& text, int prefix) {
  NetworkAddress made{text, {}, {}};
  inet_pton(text.find(':') == std::string::npos ? AF_INET : AF_INET6, text.c_str(),
            made.bytes.data());
  for (int bit = 0; bit < prefix; ++bit) {
    made.mask[static_cast<std::size_t>(bit / 8)] |= static_cast<std::uint8_t>(0x80 >> bit % 8);
  }
  return made;
}

TEST(TcpAddresses, OnTheSameHostLoopbackIsFirst) {
  EXPECT_THAT(addresses_to_try({address("10.0.0.7", 24)}, {"10.0.0.7"}, true),
              ElementsAre("127.0.0.1", "::1", "10.0.0.7"));
}

TEST(TcpAddresses, ASharedNetworkIsBeforeOthers) {
  const std::vector<NetworkAddress> ours = {address("10.0.0.7", 24), address("172.17.0.1", 16),
                                            address("2001:db8::7", 64)};
  EXPECT_THAT(
      addresses_to_try(
          ours, {"192.168.3.4", "172.17.0.1", "2001:db8:1::9", "10.0.0.9", "2001:db8::9"}, false),
      ElementsAre("10.0.0.9", "2001:db8::9", "192.168.3.4", "2001:db8:1::9"))
      << "172.17.0.1 is also this host's, so it cannot be the other's";
}

TEST(TcpAddresses, WhatIsNoAddressIsOnNoNetwork) {
  EXPECT_THAT(addresses_to_try({address("10.0.0.7", 0)}, {"host.name", "10.9.9.9"}, false),
              ElementsAre("10.9.9.9", "host.name"));
}

TEST(TcpAddresses, OwnOnesAreUsableElsewhere) {
  for (const NetworkAddress& own : own_networks()) {
    EXPECT_NE(own.text, "127.0.0.1");
    EXPECT_NE(own.text, "::1");
    EXPECT_NE(own.text.rfind("fe80", 0), 0u) << own.text;
    EXPECT_NE(own.text.rfind("169.254.", 0), 0u) << own.text;
    EXPECT_NE(own.mask[0], 0) << own.text;
  }
}

}  // namespace
}  // namespace assay
