// Direct TCP connections between ranks. Each rank listens, and gets the others' addresses through
// the team.
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
  std::string name;  ///< random; distinguishes the listeners of a run
  int port = 0;
  std::string boot;                ///< identifies the host, for loopback addresses
  std::vector<std::string> hosts;  ///< numeric addresses of the interfaces that are up
};
std::string to_text(const LinkAddress& address);
/// Error: failed if `text` is not such an address.
Result<LinkAddress> parse_link_address(const std::string& text);

/// A listening socket on every interface of this host, and how others reach it.
struct LinkListener {
  Descriptor socket;
  LinkAddress address;

  /// Opens a listener. Error: failed.
  static Result<LinkListener> open();
};

/// A rank to connect with.
struct LinkPeer {
  std::string name;  ///< "rank 2 on node-b", for messages
  LinkAddress address;
};

/// Connects this rank with all of `peers` at once, by `count` connections each. Every peer calls it
/// too, with this end's address and the same count. Both ends of a connection prove that they know
/// the team's secret; any number of other callers is rejected. Returns the sockets by peer and then
/// by connection, in the same order at both ends; `own` is closed. Error: failed, naming the peer
/// that could not be reached and the addresses tried; or as Team::check_alive().
Result<std::vector<std::vector<Descriptor>>> connect_links(LinkListener own,
                                                           std::span<const LinkPeer> peers,
                                                           int count, Team& team);

}  // namespace assay
