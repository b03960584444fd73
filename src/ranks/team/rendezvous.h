// Gathers the ranks of a team: rank 0 listens, the others connect to it and greet it, and both ends
// prove that they know the run's token.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/descriptor.h"
#include "core/result.h"
#include "ranks/team/team.h"
#include "ranks/team/wire.h"

namespace assay {

/// A listening socket for receive_ranks(). `port` 0 takes any free port; `local` listens on
/// loopback only. Error: failed, naming the port.
Result<Descriptor> listen_for_ranks(int port, bool local = false);

/// The result of gathering the ranks.
struct Gathering {
  std::vector<TeamMember> members;  ///< by rank
  /// Connections by rank: on rank 0 to all other ranks (its own entry is null), on other ranks only
  /// to rank 0.
  std::vector<std::unique_ptr<Wire>> wires;
  std::string secret;  ///< the run's token
};

/// On rank 0: waits for `size` - 1 ranks that know the token; any number of other callers does not
/// delay them. Error: failed, naming the ranks that did not connect within `seconds`, or before
/// `hopeless` returned true, which means that they never will; or the rank that ended meanwhile.
Result<Gathering> receive_ranks(const Descriptor& listener, int size, const std::string& token,
                                double seconds, const std::function<bool()>& hopeless);
/// On other ranks: connects to rank 0 at the first of `addresses` ("host:port,host:port") that
/// answers. Retries until `seconds` have passed, also if the other end does not know the token,
/// because it may not be rank 0. Error: failed, naming the addresses; at once if rank 0 knows the
/// token and refuses, with its reason, or if there is no address.
Result<Gathering> join_rank_0(const std::string& addresses, int rank, int size,
                              const std::string& token, double seconds);

/// Returns this machine's name, safe to print.
std::string host_name();

}  // namespace assay
