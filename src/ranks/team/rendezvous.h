// How the ranks of a team find each other: rank 0 listens, the others connect to it and show the
// run's token.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/child_process.h"
#include "core/result.h"
#include "ranks/team/team.h"
#include "ranks/team/wire.h"

namespace assay {

/// A listening socket on every interface.
class Listener {
 public:
  /// `port` 0 takes any free one; `local`: on the loopback address alone. Error: failed, naming the
  /// port.
  static Result<std::unique_ptr<Listener>> open(int port, bool local = false);
  int port() const { return port_; }
  int socket() const { return socket_.number(); }

 private:
  Listener(int socket, int port) : socket_(socket), port_(port) {}

  Descriptor socket_;
  int port_;
};

/// Everyone who came.
struct Gathering {
  std::vector<TeamMember> members;
  /// By rank: on rank 0 the connections to all others (its own place is null), elsewhere the one to
  /// rank 0 alone.
  std::vector<std::unique_ptr<Wire>> wires;
};

/// Rank 0: waits for `size` - 1 ranks with the right token. Strangers are turned away. Error:
/// failed, naming the ranks that did not come within `seconds` or before `hopeless` said that they
/// never will.
Result<Gathering> receive_ranks(const Listener& listener, int size, const std::string& token,
                                double seconds, const std::function<bool()>& hopeless);
/// Another rank: connects to rank 0 at the first of `addresses`, "host:port,host:port", that
/// answers, trying again until `seconds` are over. Error: failed, naming the addresses.
Result<Gathering> join_rank_0(const std::string& addresses, int rank, int size,
                              const std::string& token, double seconds);

/// 32 random hexadecimal digits.
std::string new_token();
/// This machine's name.
std::string host_name();

}  // namespace assay
