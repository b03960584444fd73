// One rank's TCP connections to all other ranks of its team: bytes without frames, since both ends
// know what each operation sends.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/child_process.h"
#include "core/result.h"
#include "ranks/team/team.h"

namespace assay {

class TcpLinks {
 public:
  /// Connects every rank with every other; all ranks call it together. Error: failed, naming the
  /// rank that could not be reached and where it was tried, or as Team says.
  static Result<std::unique_ptr<TcpLinks>> connect(Team& team);

  int rank() const { return team_.rank(); }
  int size() const { return team_.size(); }

  /// Bytes taken, 0 while `peer` takes none. Error: failed, naming the peer, if it is gone.
  Result<std::size_t> send_some(int peer, const void* data, std::size_t bytes);
  /// Bytes that came, 0 while there are none. Error: as send_some.
  Result<std::size_t> receive_some(int peer, void* data, std::size_t bytes);

  /// One thing to wait for: POLLIN or POLLOUT at a peer.
  pollfd interest(int peer, short events) const;
  /// Returns when one of `interests` is ready, asking the team every 100 ms whether it is whole.
  Status wait(std::vector<pollfd>& interests);

  /// Closes all connections, which every peer sees as an error. Nothing else may be called after.
  void close();

 private:
  TcpLinks(Team& team, std::vector<Descriptor> sockets)
      : team_(team), sockets_(std::move(sockets)) {}
  Error lost(int peer, const char* how) const;

  Team& team_;
  std::vector<Descriptor> sockets_;  ///< by rank; its own stays closed
  std::chrono::steady_clock::time_point asked_;
};

}  // namespace assay
