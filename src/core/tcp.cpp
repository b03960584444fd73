#include "core/tcp.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace assay {
namespace {

constexpr int socket_kind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

Error last_system_error() {
  return {ErrorKind::failed, std::strerror(errno)};
}

void send_at_once(const Descriptor& socket) {
  const int on = 1;
  ::setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/// An address of either family, as the system's calls take it.
class Place {
 public:
  static Place any(int family, int port) {
    Place place;
    place.storage_.ss_family = static_cast<sa_family_t>(family);
    place.set_port(port);
    return place;
  }
  static Place loopback(int port) {
    Place place = any(AF_INET, port);
    place.v4().sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return place;
  }
  /// Whether `text` is a numeric address; then this is it.
  bool parse(const std::string& text, int port) {
    for (const int family : {AF_INET6, AF_INET}) {
      *this = any(family, port);
      void* const bytes = family == AF_INET6 ? static_cast<void*>(&v6().sin6_addr)
                                             : static_cast<void*>(&v4().sin_addr);
      if (::inet_pton(family, text.c_str(), bytes) == 1) return true;
    }
    return false;
  }
  int family() const { return storage_.ss_family; }
  sockaddr* address() { return reinterpret_cast<sockaddr*>(&storage_); }
  socklen_t bytes() const {
    return family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  }

 private:
  sockaddr_in& v4() { return *reinterpret_cast<sockaddr_in*>(&storage_); }
  sockaddr_in6& v6() { return *reinterpret_cast<sockaddr_in6*>(&storage_); }
  void set_port(int port) { v4().sin_port = htons(static_cast<std::uint16_t>(port)); }

  sockaddr_storage storage_ = {};
};
static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));

Result<Descriptor> listen_at(Place place) {
  Descriptor socket(::socket(place.family(), socket_kind, 0));
  if (!socket.is_open()) return last_system_error();
  const int on = 1, off = 0;
  ::setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (place.family() == AF_INET6) {  // accepts IPv4 too
    ::setsockopt(socket.number(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  }
  if (::bind(socket.number(), place.address(), place.bytes()) != 0 ||
      ::listen(socket.number(), SOMAXCONN) != 0) {
    return last_system_error();
  }
  return socket;
}

Result<Descriptor> begin_connect_at(int family, const sockaddr* address, socklen_t bytes) {
  Descriptor socket(::socket(family, socket_kind, 0));
  if (!socket.is_open()) return last_system_error();
  send_at_once(socket);
  if (::connect(socket.number(), address, bytes) != 0 && errno != EINPROGRESS) {
    return last_system_error();
  }
  return socket;
}

Status finish_connect(const Descriptor& socket, double seconds) {
  pollfd file{socket.number(), POLLOUT, 0};
  if (::poll(&file, 1, static_cast<int>(seconds * 1000)) <= 0) {
    return Error{ErrorKind::failed, fmt::format("no answer within {:.0f} s", seconds)};
  }
  return connect_result(socket);
}

}  // namespace

Result<Descriptor> listen_tcp(int port, bool local) {
  if (local) return listen_at(Place::loopback(port));
  Result<Descriptor> socket = listen_at(Place::any(AF_INET6, port));
  // A machine without IPv6 gets an IPv4 socket. A port that is taken is taken in both.
  if (!socket && errno != EADDRINUSE) socket = listen_at(Place::any(AF_INET, port));
  return socket;
}

int tcp_port(const Descriptor& socket) {
  sockaddr_in6 address = {};  // the port is at the same place in both families
  socklen_t bytes = sizeof(address);
  if (::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&address), &bytes) != 0) return 0;
  return ntohs(address.sin6_port);
}

Descriptor accept_tcp(const Descriptor& listener) {
  Descriptor caller(::accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (caller.is_open()) send_at_once(caller);
  return caller;
}

Result<Descriptor> begin_connect(const std::string& address, int port) {
  Place place;
  if (!place.parse(address, port)) {
    return Error{ErrorKind::failed, fmt::format("\"{}\" is not a numeric address", address)};
  }
  return begin_connect_at(place.family(), place.address(), place.bytes());
}

Status connect_result(const Descriptor& socket) {
  int error = 0;
  socklen_t bytes = sizeof(error);
  ::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &bytes);
  if (error != 0) return Error{ErrorKind::failed, std::strerror(error)};
  return {};
}

Result<Descriptor> connect_to(const std::string& host, int port, double seconds) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string service = fmt::format("{}", port);
  if (const int error = ::getaddrinfo(host.c_str(), service.c_str(), &hints, &found); error != 0) {
    return Error{ErrorKind::failed, ::gai_strerror(error)};
  }
  Result<Descriptor> connected = Error{ErrorKind::failed, "it has no address"};
  for (const addrinfo* at = found; at != nullptr && !connected.ok(); at = at->ai_next) {
    connected = begin_connect_at(at->ai_family, at->ai_addr, at->ai_addrlen);
    if (!connected) continue;
    if (const Status done = finish_connect(*connected, seconds); !done) connected = done.error();
  }
  ::freeaddrinfo(found);
  return connected;
}

std::string tcp_peer(const Descriptor& socket) {
  sockaddr_in6 address = {};
  socklen_t bytes = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::getpeername(socket.number(), generic, &bytes) != 0) return {};
  std::array<char, NI_MAXHOST> text = {};
  ::getnameinfo(generic, bytes, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  std::string host = text.data();
  constexpr std::string_view mapped = "::ffff:";  // IPv4 through an IPv6 socket
  if (host.starts_with(mapped)) host.erase(0, mapped.size());
  const bool v6 = host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", v6 ? "[" : "", host, v6 ? "]" : "", ntohs(address.sin6_port));
}

}  // namespace assay
