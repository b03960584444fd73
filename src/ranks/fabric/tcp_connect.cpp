#include "ranks/fabric/tcp_connect.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <random>
#include <sstream>
#include <utility>

#include "machine/system/fact_source.h"
#include "ranks/team/network_addresses.h"

namespace assay::tcp {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds look(50);                  // between checks of the team
constexpr milliseconds patience(2000);            // per address, and per incoming connection
constexpr std::uint64_t magic = 0x6179737361ull;  // "assay"

/// Sent first by the connecting end; the other end answers with the connecting end's token.
struct Greeting {
  std::uint64_t magic;
  std::uint64_t token;
  std::uint64_t queue;
};

/// Waits until `socket` is ready for `events`, at most `limit`. False: it is not ready.
Result<bool> wait_for(const Socket& socket, short events, milliseconds limit, Team& team) {
  const auto deadline = Clock::now() + limit;
  do {
    pollfd entry{socket.file(), events, 0};
    if (::poll(&entry, 1, static_cast<int>(look.count())) > 0) return true;
    TRY(team.still_whole());
  } while (Clock::now() < deadline);
  return false;
}

/// Reads all of `bytes`; false if they do not arrive in time or the other end closes.
Result<bool> read_all(const Socket& socket, void* target, std::size_t bytes, Team& team) {
  auto* at = static_cast<char*>(target);
  while (bytes > 0) {
    if (!TRY(wait_for(socket, POLLIN, patience, team))) return false;
    const ssize_t got = ::recv(socket.file(), at, bytes, 0);
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(const Socket& socket, const void* source, std::size_t bytes) {
  return ::send(socket.file(), source, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
}

sockaddr_in6 endpoint_v6(const std::string& host, int port) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET6, host.c_str(), &address.sin6_addr);
  return address;
}

sockaddr_in endpoint_v4(const std::string& host, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  return address;
}

/// Sends small messages at once; receiving threads may wait inside recv().
void prepare(const Socket& socket) {
  const int on = 1;
  ::fcntl(socket.file(), F_SETFL, ::fcntl(socket.file(), F_GETFL) & ~O_NONBLOCK);
  ::setsockopt(socket.file(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// Opens a connection to `host` and exchanges greetings. Empty: no answer, or not from the peer.
Result<Socket> try_host(const std::string& host, const Listener& own, const Address& peer,
                        std::uint64_t queue, Team& team) {
  const bool v6 = host.find(':') != std::string::npos;
  Socket socket(::socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return Socket();
  const sockaddr_in6 address6 = endpoint_v6(host, peer.port);
  const sockaddr_in address4 = endpoint_v4(host, peer.port);
  const auto* address = v6 ? reinterpret_cast<const sockaddr*>(&address6)
                           : reinterpret_cast<const sockaddr*>(&address4);
  const auto length = static_cast<socklen_t>(v6 ? sizeof address6 : sizeof address4);
  if (::connect(socket.file(), address, length) != 0 && errno != EINPROGRESS) return Socket();
  if (!TRY(wait_for(socket, POLLOUT, patience, team))) return Socket();
  const Greeting greeting{magic, peer.token, queue};
  std::uint64_t answer = 0;
  if (!write_all(socket, &greeting, sizeof greeting)) return Socket();
  if (!TRY(read_all(socket, &answer, sizeof answer, team))) return Socket();
  if (answer != own.address.token) return Socket();
  return socket;
}

Result<std::vector<Socket>> connect_to(const Listener& own, const Address& peer, int count,
                                       Team& team) {
  std::vector<std::string> hosts = peer.hosts;
  if (peer.boot == own.address.boot) hosts.insert(hosts.begin(), "127.0.0.1");
  std::vector<Socket> sockets;
  for (const std::string& host : hosts) {
    for (int queue = 0; queue < count; ++queue) {
      Socket socket = TRY(try_host(host, own, peer, static_cast<std::uint64_t>(queue), team));
      if (!socket) break;
      sockets.push_back(std::move(socket));
    }
    if (static_cast<int>(sockets.size()) == count) return sockets;
    sockets.clear();
  }
  return Error{ErrorKind::failed,
               fmt::format("no answer at port {} of {}: does a firewall block it?", peer.port,
                           fmt::join(hosts, ", "))};
}

Result<std::vector<Socket>> accept_from(const Listener& own, const Address& peer, int count,
                                        Team& team) {
  std::vector<Socket> sockets(static_cast<std::size_t>(count));
  for (int missing = count; missing > 0;) {
    if (!TRY(wait_for(own.socket, POLLIN, look, team))) continue;
    Socket socket(::accept4(own.socket.file(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket) continue;
    Greeting greeting{};
    if (!TRY(read_all(socket, &greeting, sizeof greeting, team))) continue;
    const bool known = greeting.magic == magic && greeting.token == own.address.token &&
                       greeting.queue < sockets.size();
    if (!known || !write_all(socket, &peer.token, sizeof peer.token)) continue;
    Socket& place = sockets[greeting.queue];
    // A peer that gave up one address connects again from the next.
    if (!place) --missing;
    place = std::move(socket);
  }
  return sockets;
}

}  // namespace

Socket::Socket(Socket&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

Socket::~Socket() {
  if (file_ >= 0) ::close(file_);
}

Error socket_error(const std::string& doing, int number) {
  return {ErrorKind::failed,
          fmt::format("tcp: {}: {} (errno {})", doing, std::strerror(number), number)};
}

std::string to_text(const Address& address) {
  return fmt::format("{} {} {} {}", address.token, address.port, address.boot,
                     fmt::join(address.hosts, " "));
}

Result<Address> parse_address(const std::string& text) {
  Address address;
  std::istringstream words(text);
  words >> address.token >> address.port >> address.boot;
  if (!words) return Error{ErrorKind::failed, fmt::format("\"{}\" is not a TCP address", text)};
  for (std::string host; words >> host;) address.hosts.push_back(host);
  return address;
}

Result<Listener> listen_here() {
  Listener listener;
  const int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  listener.socket = Socket(::socket(AF_INET6, type, 0));
  const bool v6 = static_cast<bool>(listener.socket);
  if (!v6) listener.socket = Socket(::socket(AF_INET, type, 0));
  if (!listener.socket) return socket_error("creating a socket", errno);
  const int file = listener.socket.file(), off = 0;
  if (v6) ::setsockopt(file, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  sockaddr_in6 any6{};
  any6.sin6_family = AF_INET6;
  sockaddr_in any4{};
  any4.sin_family = AF_INET;
  auto* any = v6 ? reinterpret_cast<sockaddr*>(&any6) : reinterpret_cast<sockaddr*>(&any4);
  auto length = static_cast<socklen_t>(v6 ? sizeof any6 : sizeof any4);
  if (::bind(file, any, length) != 0 || ::listen(file, SOMAXCONN) != 0 ||
      ::getsockname(file, any, &length) != 0) {
    return socket_error("listening", errno);
  }
  std::random_device random;
  listener.address = {static_cast<std::uint64_t>(random()) << 32 | random(),
                      ntohs(v6 ? any6.sin6_port : any4.sin_port),
                      read_fact(this_machine(), "proc/sys/kernel/random/boot_id").value_or("-"),
                      {}};
  for (const NetworkAddress& network : own_networks()) {
    listener.address.hosts.push_back(network.text);
  }
  return listener;
}

Result<std::vector<Socket>> connect_pair(const Listener& own, const Address& peer, int count,
                                         Team& team) {
  const bool calls = own.address.token < peer.token;
  std::vector<Socket> sockets =
      TRY(calls ? connect_to(own, peer, count, team) : accept_from(own, peer, count, team));
  for (const Socket& socket : sockets) prepare(socket);
  return sockets;
}

std::string peer_name(const Socket& socket) {
  sockaddr_in6 address{};
  socklen_t length = sizeof address;
  if (::getpeername(socket.file(), reinterpret_cast<sockaddr*>(&address), &length) != 0) return {};
  std::array<char, NI_MAXHOST> text = {};
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, text.data(), text.size(),
                nullptr, 0, NI_NUMERICHOST);
  std::string host = text.data();
  if (host.starts_with("::ffff:")) host.erase(0, std::strlen("::ffff:"));
  return host.find(':') == std::string::npos
             ? fmt::format("{}:{}", host, ntohs(address.sin6_port))
             : fmt::format("[{}]:{}", host, ntohs(address.sin6_port));
}

}  // namespace assay::tcp
