// One rank's TCP connections to all other ranks of its team. They carry bytes without frames,
// because both ends know what each operation sends.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/descriptor.h"
#include "core/result.h"
#include "ranks/team/team.h"

namespace assay {

class TcpLinks {
 public:
  /// Connects all ranks with each other; all ranks call it together. Error: failed, naming the rank
  /// that could not be reached and the addresses tried, or as Team reports.
  static Result<std::unique_ptr<TcpLinks>> connect(Team& team);

  int rank() const { return team_.rank(); }
  int size() const { return team_.size(); }

  /// Returns the number of bytes sent; 0 while `peer` accepts none. Error: failed, naming the peer,
  /// if it is gone.
  Result<std::size_t> send_some(int peer, const void* data, std::size_t bytes);
  /// Returns the number of bytes received; 0 if none have arrived. Error: as send_some.
  Result<std::size_t> receive_some(int peer, void* data, std::size_t bytes);

  /// Returns an event to wait for: POLLIN or POLLOUT on the connection to `peer`.
  pollfd interest(int peer, short events) const;
  /// Returns when one of `interests` is ready; checks every 100 ms that no rank is lost. Error: as
  /// Team::check_alive(); failed if poll() fails.
  Status wait(std::vector<pollfd>& interests);

  /// Closes all connections, which makes later calls here and on every peer fail. May be called
  /// from another thread while one is in send_some(), receive_some() or wait().
  void close();

 private:
  TcpLinks(Team& team, std::vector<Descriptor> sockets)
      : team_(team), sockets_(std::move(sockets)) {}
  Error lost(int peer, const char* how) const;

  Team& team_;
  std::vector<Descriptor> sockets_;  ///< indexed by rank; this rank's own is closed
  std::chrono::steady_clock::time_point asked_;
};

}  // namespace assay
