// Direct TCP connections between ranks: each listens, and learns through the team where the others
// do.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/descriptor.h"
#include "core/result.h"
#include "ranks/team/team.h"

namespace assay {

/// How to reach a rank.
struct LinkAddress {
  std::string name;  ///< random: tells the listeners of a run apart
  int port = 0;
  std::string boot;                ///< differs between hosts: loopback leads to this host only
  std::vector<std::string> hosts;  ///< numeric addresses of the interfaces that are up
};
std::string to_text(const LinkAddress& address);
/// Error: failed if `text` is not such an address.
Result<LinkAddress> parse_link_address(const std::string& text);

/// A listening socket on every interface of this host, and how others reach it.
struct LinkListener {
  Descriptor socket;
  LinkAddress address;

  /// Error: failed.
  static Result<LinkListener> open();
};

/// A rank to connect with.
struct LinkPeer {
  std::string name;  ///< "rank 2 on node-b", for messages
  LinkAddress address;
};

/// Connects this rank with all of `peers` at once, by `count` connections each. Every peer calls it
/// too, with this end's address and the same count. Both ends of each show that they know the
/// team's secret; other callers, however many, are sent away. Returns the sockets by peer and then
/// by connection, in the same order at both ends; `own` is closed. Error: failed, naming the peer
/// that could not be reached and the addresses tried; or as Team::check_alive() reports.
Result<std::vector<std::vector<Descriptor>>> connect_links(LinkListener own,
                                                           std::span<const LinkPeer> peers,
                                                           int count, Team& team);

}  // namespace assay
