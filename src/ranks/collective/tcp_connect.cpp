// How the ranks of a team connect. Every rank listens; of two ranks, the higher connects to the
// lower. Both present a token that only this team's communicator knows, so connections from
// strangers, and addresses that lead to another program, are closed and ignored.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <list>
#include <random>
#include <sstream>

#include "ranks/collective/support.h"
#include "ranks/collective/tcp_links.h"
#include "ranks/team/network_addresses.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds to_connect{2};  // also the cost of an address that drops packets
constexpr std::chrono::seconds to_answer{10};  // for a peer that is busy connecting
constexpr int rounds = 3;                      // how often all addresses of a peer are tried

Error failed(const char* call) {
  return {ErrorKind::failed, fmt::format("TCP: {}: {}", call, std::strerror(errno))};
}

std::string new_token() {
  std::random_device entropy;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", entropy(), entropy(), entropy(), entropy());
}

/// What two ranks send to each other when they connect; always of the same length.
std::string greeting(const std::string& token, int from, int to) {
  return fmt::format("assay tcp {} {:8} {:8}\n", token, from, to);
}

struct Listener {
  Descriptor socket;
  int port = 0;
};

/// Listens on an ephemeral port of all addresses: IPv6 and IPv4, or only IPv4 if the host has no
/// IPv6.
Status listen_anywhere(Listener& listener) {
  for (const int family : {AF_INET6, AF_INET}) {
    listener.socket.reset(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int socket = listener.socket.number();
    if (socket < 0) continue;
    const int off = 0;
    sockaddr_in6 address = {};  // all zeros also as a sockaddr_in: any address, port 0
    address.sin6_family = static_cast<sa_family_t>(family);
    socklen_t bytes = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (family == AF_INET6) {
      ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    }
    if (::bind(socket, generic, bytes) != 0 || ::listen(socket, SOMAXCONN) != 0 ||
        ::getsockname(socket, generic, &bytes) != 0) {
      continue;
    }
    listener.port = ntohs(address.sin6_port);  // at the same offset in both families
    return {};
  }
  return failed("listening");
}

/// A connection whose other end is not yet identified.
struct Meeting {
  int peer = -1;  ///< the rank being called; -1: incoming, from an unknown rank
  std::vector<std::string> addresses;
  int port = 0;
  std::size_t attempt = 0;
  Descriptor socket;
  bool connected = false;
  std::string heard;
  Clock::time_point deadline;
};

class Introduction {
 public:
  explicit Introduction(Team& team)
      : team_(team), sockets_(static_cast<std::size_t>(team.size())), missing_(team.size() - 1) {}

  Result<std::vector<Descriptor>> run() {
    TRY(learn_addresses());
    while (missing_ > 0) {
      TRY(team_.still_whole());
      TRY(step());
    }
    return std::move(sockets_);
  }

 private:
  /// "token port address address ..."; all ranks use the token of rank 0.
  Result<std::string> give_address(const std::vector<NetworkAddress>& own) {
    TRY(listen_anywhere(listener_));
    std::string text = fmt::format("{} {}", new_token(), listener_.port);
    for (const NetworkAddress& address : own) text += " " + address.text;
    return text;
  }

  Status learn_addresses() {
    const std::vector<NetworkAddress> own = own_networks();
    const auto all = TRY(exchange_or_fail(team_, "addresses for TCP", give_address(own)));
    for (int peer = 0; peer <= team_.rank(); ++peer) {
      const TeamMember& member = team_.members()[static_cast<std::size_t>(peer)];
      std::istringstream text(all[static_cast<std::size_t>(peer)]);
      std::string token;
      int port = 0;
      if (!(text >> token >> port) || port <= 0 || port > 65535) {
        return Error{ErrorKind::failed,
                     fmt::format("TCP: {} sent no usable address", name_of(member))};
      }
      if (peer == 0) token_ = token;
      if (peer == team_.rank()) break;
      std::vector<std::string> theirs;
      for (std::string address; text >> address;) theirs.push_back(address);
      Meeting& meeting = meetings_.emplace_back();
      meeting.peer = peer;
      meeting.port = port;
      meeting.addresses = addresses_to_try(
          own, theirs, member.host == team_.members()[static_cast<std::size_t>(team_.rank())].host);
    }
    for (Meeting& meeting : meetings_) TRY(call(meeting));
    return {};
  }

  /// Starts to connect to the next address of `meeting`'s peer.
  Status call(Meeting& meeting) {
    const std::size_t all = meeting.addresses.size() * rounds;
    for (; meeting.attempt < all; ++meeting.attempt) {
      const std::string& text = meeting.addresses[meeting.attempt % meeting.addresses.size()];
      sockaddr_in6 v6 = {};
      sockaddr_in v4 = {};
      const bool is_v6 = ::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1;
      if (!is_v6 && ::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) != 1) continue;
      v6.sin6_family = AF_INET6;
      v4.sin_family = AF_INET;
      v6.sin6_port = v4.sin_port = htons(static_cast<std::uint16_t>(meeting.port));
      const auto* address =
          is_v6 ? reinterpret_cast<const sockaddr*>(&v6) : reinterpret_cast<const sockaddr*>(&v4);
      meeting.socket.reset(
          ::socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      meeting.connected = false;
      meeting.heard.clear();
      meeting.deadline = Clock::now() + to_connect;
      const socklen_t bytes = is_v6 ? sizeof(v6) : sizeof(v4);
      if (meeting.socket.number() >= 0 &&
          (::connect(meeting.socket.number(), address, bytes) == 0 || errno == EINPROGRESS)) {
        return {};
      }
    }
    return Error{
        ErrorKind::failed,
        fmt::format("TCP: cannot reach {}: tried {} on port {}; allow TCP between the hosts",
                    name_of(team_.members()[static_cast<std::size_t>(meeting.peer)]),
                    meeting.addresses.empty()
                        ? "none, because it has no address"
                        : fmt::format("{}", fmt::join(meeting.addresses, ", ")),
                    meeting.port)};
  }

  /// The connection of `meeting` failed.
  Status give_up(Meeting& meeting) {
    meeting.socket.close();
    if (meeting.peer < 0) return {};  // an unknown program
    ++meeting.attempt;
    return call(meeting);
  }

  Status step() {
    std::vector<pollfd> interests = {{listener_.socket.number(), POLLIN, 0}};
    for (const Meeting& meeting : meetings_) {
      const short events = meeting.peer >= 0 && !meeting.connected ? POLLOUT : POLLIN;
      interests.push_back({meeting.socket.number(), events, 0});
    }
    if (::poll(interests.data(), interests.size(), 100) < 0 && errno != EINTR) {
      return failed("poll");
    }
    std::size_t at = 0;
    for (Meeting& meeting : meetings_) {
      if (interests[++at].revents != 0) {
        TRY(go_on(meeting));
      } else if (Clock::now() > meeting.deadline) {
        TRY(give_up(meeting));
      }
    }
    meetings_.remove_if([](const Meeting& meeting) { return meeting.socket.number() < 0; });
    if (interests[0].revents != 0) {
      const int caller =
          ::accept4(listener_.socket.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (caller >= 0) {
        Meeting& meeting = meetings_.emplace_back();
        meeting.socket.reset(caller);
        meeting.deadline = Clock::now() + to_answer;
      }
    }
    return {};
  }

  /// Handles an event on the connection of `meeting`.
  Status go_on(Meeting& meeting) {
    const int socket = meeting.socket.number();
    if (meeting.peer >= 0 && !meeting.connected) {
      int error = 0;
      socklen_t bytes = sizeof(error);
      ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &bytes);
      if (error != 0 || !say(socket, meeting.peer)) return give_up(meeting);
      meeting.connected = true;
      meeting.deadline = Clock::now() + to_answer;
      return {};
    }
    const std::size_t whole = greeting(token_, 0, 0).size();
    std::array<char, 128> buffer;
    // Reads only the greeting: what follows belongs to the first operation.
    const ssize_t got = ::recv(socket, buffer.data(), whole - meeting.heard.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
    if (got <= 0) return give_up(meeting);
    meeting.heard.append(buffer.data(), static_cast<std::size_t>(got));
    if (meeting.heard.size() < whole) return {};
    const int peer = speaker(meeting);
    if (peer < 0 || (meeting.peer < 0 && !say(socket, peer))) return give_up(meeting);
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    sockets_[static_cast<std::size_t>(peer)].reset(meeting.socket.release());
    --missing_;
    return {};
  }

  /// A greeting always fits into the buffer of a new connection.
  bool say(int socket, int to) const {
    const std::string text = greeting(token_, team_.rank(), to);
    return ::send(socket, text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }

  /// Which rank is at the other end, judged by its greeting; -1: none that was expected.
  int speaker(const Meeting& meeting) const {
    for (int rank = 0; rank < team_.size(); ++rank) {
      const bool expected = meeting.peer >= 0 ? rank == meeting.peer : rank > team_.rank();
      const bool known = sockets_[static_cast<std::size_t>(rank)].number() >= 0;
      if (expected && !known && meeting.heard == greeting(token_, rank, team_.rank())) return rank;
    }
    return -1;
  }

  Team& team_;
  Listener listener_;
  std::string token_;
  std::list<Meeting> meetings_;
  std::vector<Descriptor> sockets_;
  int missing_;
};

}  // namespace

Result<std::unique_ptr<TcpLinks>> TcpLinks::connect(Team& team) {
  Introduction introduction(team);
  std::vector<Descriptor> sockets = TRY(introduction.run());
  return std::unique_ptr<TcpLinks>(new TcpLinks(team, std::move(sockets)));
}

}  // namespace assay
