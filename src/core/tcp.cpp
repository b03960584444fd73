#include "core/tcp.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "core/time_limit.h"

namespace assay {
namespace {

constexpr int socket_kind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

Error last_system_error() {
  return {ErrorKind::failed, std::strerror(errno)};
}

Error not_numeric(const std::string& address) {
  return {ErrorKind::failed, fmt::format("\"{}\" is not a numeric address", address)};
}

void send_at_once(const Descriptor& socket) {
  const int on = 1;
  ::setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/// An address of either family, in the form of the system's calls.
class Place {
 public:
  static Place any(int family, int port) {
    Place place;
    place.storage_.ss_family = static_cast<sa_family_t>(family);
    place.set_port(port);
    return place;
  }
  static Place copy(const sockaddr* address, socklen_t bytes) {
    Place place;
    std::memcpy(&place.storage_, address, std::min<std::size_t>(bytes, sizeof(place.storage_)));
    return place;
  }
  static Place loopback(int port) {
    Place place = any(AF_INET, port);
    place.v4().sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return place;
  }
  /// Parses `text` if it is a numeric address; returns whether it is.
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

Result<Descriptor> begin_connect_at(Place place) {
  Descriptor socket(::socket(place.family(), socket_kind, 0));
  if (!socket.is_open()) return last_system_error();
  send_at_once(socket);
  if (::connect(socket.number(), place.address(), place.bytes()) != 0 && errno != EINPROGRESS) {
    return last_system_error();
  }
  return socket;
}

/// Connects to the first of several addresses that answers. The next one is tried when all before
/// it have failed or have not answered for a while, and attempts continue in parallel. So
/// unreachable addresses cost little ("Happy Eyeballs", RFC 8305).
class Race {
 public:
  using Clock = std::chrono::steady_clock;
  /// The seconds are counted from `begin`.
  Race(std::vector<Place> places, double seconds, Clock::time_point begin = Clock::now())
      : places_(std::move(places)),
        seconds_(seconds),
        begin_(begin),
        step_(std::min(longest_step, seconds / 2 / static_cast<double>(places_.size() + 1))) {}

  Result<Descriptor> run() {
    double step_end = 0;
    while (next_ < places_.size() || !running_.empty()) {
      const bool more = next_ < places_.size();
      if (more && (running_.empty() || spent() >= step_end)) {
        begin_next();
        step_end = spent() + step_;
        continue;
      }
      const double left = seconds_ - spent();
      if (left <= 0) {
        return Error{ErrorKind::failed, fmt::format("no answer within {:g} s", seconds_)};
      }
      if (auto winner = wait(more ? std::min(left, step_end - spent()) : left)) {
        return std::move(*winner);
      }
    }
    return error_;
  }

 private:
  static constexpr double longest_step = 0.25;

  double spent() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  void begin_next() {
    auto begun = begin_connect_at(places_[next_++]);
    if (begun) {
      running_.push_back(std::move(*begun));
    } else {
      error_ = begun.error();
    }
  }

  /// Returns the first socket that connects within `seconds`; drops those that failed.
  std::optional<Descriptor> wait(double seconds) {
    std::vector<pollfd> files;
    for (const Descriptor& socket : running_) files.push_back({socket.number(), POLLOUT, 0});
    ::poll(files.data(), files.size(), static_cast<int>(std::ceil(std::max(seconds, 0.0) * 1000)));
    for (std::size_t i = files.size(); i-- > 0;) {
      if (files[i].revents == 0) continue;
      const auto at = running_.begin() + static_cast<std::ptrdiff_t>(i);
      const Status done = connect_result(*at);
      if (done) return std::move(*at);
      error_ = done.error();
      running_.erase(at);
    }
    return std::nullopt;
  }

  std::vector<Place> places_;
  std::size_t next_ = 0;  ///< index of the first untried address
  const double seconds_;
  const Clock::time_point begin_;
  const double step_;
  std::vector<Descriptor> running_;
  Error error_ = {ErrorKind::failed, "it has no address"};
};

struct LookedUp {
  int error = 0;  ///< result of getaddrinfo()
  std::vector<Place> places;
};

LookedUp look_up_without_limit(const std::string& host, int port) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string service = fmt::format("{}", port);
  LookedUp result;
  result.error = ::getaddrinfo(host.c_str(), service.c_str(), &hints, &found);
  if (result.error != 0) return result;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    if (at->ai_family == AF_INET || at->ai_family == AF_INET6) {
      result.places.push_back(Place::copy(at->ai_addr, at->ai_addrlen));
    }
  }
  ::freeaddrinfo(found);
  return result;
}

/// Resolves the addresses of a host. Without the limit, a name server that does not answer would
/// take half a minute.
Result<std::vector<Place>> look_up(const std::string& host, int port, double seconds) {
  Place numeric;
  if (numeric.parse(host, port)) return std::vector<Place>{numeric};
  auto result = within<LookedUp>(seconds, [=] { return look_up_without_limit(host, port); });
  if (!result) {
    return Error{
        ErrorKind::failed,
        fmt::format("its address was not found within {:g} s; does the name server answer? "
                    "A numeric address needs none",
                    seconds)};
  }
  if (result->error != 0) return Error{ErrorKind::failed, ::gai_strerror(result->error)};
  return std::move(result->places);
}

}  // namespace

Result<Descriptor> listen_tcp(int port, bool local) {
  if (local) return listen_at(Place::loopback(port));
  Result<Descriptor> socket = listen_at(Place::any(AF_INET6, port));
  // A machine without IPv6 gets an IPv4 socket. A port in use is in use for both families.
  if (!socket && errno != EADDRINUSE) socket = listen_at(Place::any(AF_INET, port));
  return socket;
}

int tcp_port(const Descriptor& socket) {
  sockaddr_in6 address = {};  // the port is at the same offset in both families
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
  if (!place.parse(address, port)) return not_numeric(address);
  return begin_connect_at(place);
}

Status connect_result(const Descriptor& socket) {
  int error = 0;
  socklen_t bytes = sizeof(error);
  ::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &bytes);
  if (error != 0) return Error{ErrorKind::failed, std::strerror(error)};
  return {};
}

Result<Descriptor> connect_to(const std::string& host, int port, double seconds) {
  const auto begin = std::chrono::steady_clock::now();
  return Race(TRY(look_up(host, port, seconds)), seconds, begin).run();
}

Result<Descriptor> connect_to_first(std::span<const std::string> addresses, int port,
                                    double seconds) {
  std::vector<Place> places(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (!places[i].parse(addresses[i], port)) return not_numeric(addresses[i]);
  }
  return Race(std::move(places), seconds).run();
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
