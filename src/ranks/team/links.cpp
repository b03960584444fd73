#include "ranks/team/links.h"

#include <fmt/format.h>
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <list>
#include <sstream>

#include "core/hash.h"
#include "core/tcp.h"
#include "machine/system/fact_source.h"
#include "ranks/team/greeting.h"
#include "ranks/team/network_addresses.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds to_connect{2};  // also the cost of an address that drops packets
constexpr std::chrono::seconds to_answer{10};  // for a peer that is busy connecting
constexpr int rounds = 3;                      // how often all addresses of a peer are tried

/// What a caller says of itself: it names its token without telling it, and which of several
/// connections this is.
std::string link_request(const LinkAddress& caller, int connection) {
  return fmt::format("link {} {}", sha256_hex("assay link " + caller.token), connection);
}

/// A connection whose other end is not yet known.
struct Meeting {
  explicit Meeting(Greeting first) : greeting(std::move(first)) {}

  int peer = -1;  ///< index of the peer that is called; -1: this end was called
  int connection = 0;
  std::size_t attempt = 0;
  Descriptor socket;
  bool connected = false;
  Greeting greeting;
  Clock::time_point deadline;
};

class Introduction {
 public:
  Introduction(LinkListener own, std::span<const LinkPeer> peers, int count, Team& team)
      : own_(std::move(own)),
        peers_(peers),
        count_(count),
        team_(team),
        missing_(static_cast<int>(peers.size()) * count) {
    const std::vector<NetworkAddress> ours = own_networks();
    for (const LinkPeer& peer : peers) {
      const LinkAddress& address = peer.address;
      sockets_.emplace_back(static_cast<std::size_t>(count));
      hosts_.push_back(addresses_to_try(ours, address.hosts, address.boot == own_.address.boot));
    }
  }

  Result<std::vector<std::vector<Descriptor>>> run() {
    for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
      if (!calls(peer)) continue;
      for (int connection = 0; connection < count_; ++connection) {
        Meeting& meeting = meetings_.emplace_back(Greeting::calling("", ""));
        meeting.peer = static_cast<int>(peer);
        meeting.connection = connection;
        TRY(call(meeting));
      }
    }
    while (missing_ > 0) {
      TRY(team_.still_whole());
      TRY(step());
    }
    return std::move(sockets_);
  }

 private:
  /// Which of the two calls: all that is needed is that both decide alike.
  bool calls(std::size_t peer) const { return own_.address.token < peers_[peer].address.token; }

  /// Begins to connect to the next address of `meeting`'s peer.
  Status call(Meeting& meeting) {
    const LinkPeer& peer = peers_[static_cast<std::size_t>(meeting.peer)];
    const auto& hosts = hosts_[static_cast<std::size_t>(meeting.peer)];
    for (; meeting.attempt < hosts.size() * rounds; ++meeting.attempt) {
      auto begun = begin_connect(hosts[meeting.attempt % hosts.size()], peer.address.port);
      if (!begun) continue;
      meeting.socket = std::move(*begun);
      meeting.connected = false;
      meeting.greeting =
          Greeting::calling(peer.address.token, link_request(own_.address, meeting.connection));
      meeting.deadline = Clock::now() + to_connect;
      return {};
    }
    return Error{ErrorKind::failed,
                 fmt::format("TCP: cannot reach {}: tried {} on port {}; allow TCP between the "
                             "hosts",
                             peer.name,
                             hosts.empty() ? "none, because it has no address"
                                           : fmt::format("{}", fmt::join(hosts, ", ")),
                             peer.address.port)};
  }

  /// The connection of `meeting` failed.
  Status give_up(Meeting& meeting) {
    meeting.socket.close();
    if (meeting.peer < 0) return {};  // an unknown program
    ++meeting.attempt;
    return call(meeting);
  }

  Status step() {
    std::vector<pollfd> interests = {{own_.socket.number(), POLLIN, 0}};
    for (const Meeting& meeting : meetings_) {
      interests.push_back({meeting.socket.number(), meeting.greeting.awaits(), 0});
    }
    if (::poll(interests.data(), interests.size(), 100) < 0 && errno != EINTR) {
      return Error{ErrorKind::failed, fmt::format("TCP: poll: {}", std::strerror(errno))};
    }
    std::size_t at = 0;
    for (Meeting& meeting : meetings_) {
      if (interests[++at].revents != 0) {
        TRY(go_on(meeting));
      } else if (Clock::now() > meeting.deadline) {
        TRY(give_up(meeting));
      }
    }
    meetings_.remove_if([](const Meeting& meeting) { return !meeting.socket.is_open(); });
    if (interests[0].revents != 0) {
      if (Descriptor caller = accept_tcp(own_.socket); caller.is_open()) {
        Meeting& meeting = meetings_.emplace_back(Greeting::called(own_.address.token));
        meeting.socket = std::move(caller);
        meeting.connected = true;
        meeting.deadline = Clock::now() + to_answer;
      }
    }
    return {};
  }

  /// Handles an event on the connection of `meeting`.
  Status go_on(Meeting& meeting) {
    if (!meeting.connected) {
      if (!connect_result(meeting.socket)) return give_up(meeting);
      meeting.connected = true;
      meeting.deadline = Clock::now() + to_answer;
    }
    const auto greeted = meeting.greeting.advance(meeting.socket);
    if (!greeted) return give_up(meeting);
    if (!*greeted) return {};
    if (meeting.peer >= 0) {
      take(meeting, static_cast<std::size_t>(meeting.peer), meeting.connection);
    } else {
      answer(meeting);
    }
    return {};
  }

  /// A caller is accepted if a peer that calls has this name.
  void answer(Meeting& meeting) {
    for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
      for (int connection = 0; connection < count_; ++connection) {
        if (calls(peer) ||
            meeting.greeting.request() != link_request(peers_[peer].address, connection)) {
          continue;
        }
        if (meeting.greeting.accept(meeting.socket)) return take(meeting, peer, connection);
      }
    }
    meeting.greeting.refuse(meeting.socket, "nobody waits for this connection");
    meeting.socket.close();
  }

  /// A peer that gave up one address connects again from the next: the last connection counts.
  void take(Meeting& meeting, std::size_t peer, int connection) {
    Descriptor& place = sockets_[peer][static_cast<std::size_t>(connection)];
    if (!place.is_open()) --missing_;
    place = std::move(meeting.socket);
  }

  LinkListener own_;
  const std::span<const LinkPeer> peers_;
  const int count_;
  Team& team_;
  int missing_;                                  // connections
  std::vector<std::vector<std::string>> hosts_;  // addresses to try, by peer
  std::list<Meeting> meetings_;
  std::vector<std::vector<Descriptor>> sockets_;  // by peer and connection
};

}  // namespace

std::string to_text(const LinkAddress& address) {
  return fmt::format("{} {} {} {}", address.token, address.port, address.boot,
                     fmt::join(address.hosts, " "));
}

Result<LinkAddress> parse_link_address(const std::string& text) {
  LinkAddress address;
  std::istringstream words(text);
  words >> address.token >> address.port >> address.boot;
  if (!words || address.port <= 0 || address.port > 65535) {
    return Error{ErrorKind::failed, fmt::format("\"{}\" is not the address of a rank", text)};
  }
  for (std::string host; words >> host;) address.hosts.push_back(host);
  return address;
}

Result<LinkListener> LinkListener::open() {
  auto socket = listen_tcp(0);
  if (!socket) {
    return Error{ErrorKind::failed, "TCP: listening for other ranks: " + socket.error().message};
  }
  LinkListener listener;
  listener.socket = std::move(*socket);
  listener.address = {new_token(),
                      tcp_port(listener.socket),
                      read_fact(this_machine(), "proc/sys/kernel/random/boot_id").value_or("-"),
                      {}};
  for (const NetworkAddress& network : own_networks()) {
    listener.address.hosts.push_back(network.text);
  }
  return listener;
}

Result<std::vector<std::vector<Descriptor>>> connect_links(LinkListener own,
                                                           std::span<const LinkPeer> peers,
                                                           int count, Team& team) {
  return Introduction(std::move(own), peers, count, team).run();
}

}  // namespace assay
