// How two ranks connect over TCP: a listening socket, its addresses as text, and a greeting that
// distinguishes the peer from strangers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "ranks/team/team.h"

namespace assay::tcp {

/// Owns a file descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int file) : file_(file) {}
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();
  int file() const { return file_; }
  explicit operator bool() const { return file_ >= 0; }

 private:
  int file_ = -1;
};

/// How to reach a rank.
struct Address {
  std::uint64_t token = 0;  ///< random; the connecting end must know it
  int port = 0;
  std::string boot;  ///< differs between hosts: loopback is tried only within one host
  std::vector<std::string> hosts;  ///< numeric addresses of the interfaces that are up
};
std::string to_text(const Address& address);
/// Error: failed if `text` is not such an address.
Result<Address> parse_address(const std::string& text);

/// A listening socket on every interface of this host. Error: failed.
struct Listener {
  Socket socket;
  Address address;
};
Result<Listener> listen_here();

/// Connects two ranks that both call it with the other's address: `count` connections, in the same
/// order on both. Error: failed, naming every address tried; or as Team::still_whole() reports.
Result<std::vector<Socket>> connect_pair(const Listener& own, const Address& peer, int count,
                                         Team& team);

/// The address of the other end, "10.0.0.1:4711".
std::string peer_name(const Socket& socket);

/// "connecting: Connection refused (errno 111)"
Error socket_error(const std::string& doing, int number);

}  // namespace assay::tcp
