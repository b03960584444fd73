#include "ranks/team/links.h"

#include <fmt/format.h>
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <list>
#include <sstream>

#include "core/hash.h"
#include "core/shown_text.h"
#include "core/tcp.h"
#include "machine/system/fact_source.h"
#include "ranks/team/greeting.h"
#include "ranks/team/network_addresses.h"
#include "ranks/team/pending_callers.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds to_connect{2};  // also the cost of an address that drops packets
constexpr std::chrono::seconds to_answer{10};  // for a peer that is busy connecting
// All addresses of a peer are tried this often, and for as long: a flood of strangers there, and
// another program at an address that both hosts have, keep it from answering.
constexpr int rounds = 3;
constexpr std::chrono::seconds to_reach{3};
constexpr std::chrono::milliseconds between_rounds{100};

/// What a caller says of itself, and which of several connections this is.
std::string link_request(const LinkAddress& caller, int connection) {
  return fmt::format("link {} {}", caller.name, connection);
}

/// The secret of greetings with this listener of the team.
std::string link_secret(const Team& team, const LinkAddress& called) {
  return hmac_sha256_hex(team.secret(), "link " + called.name);
}

/// A connection that this end makes.
struct Call {
  std::size_t peer = 0;
  int connection = 0;
  std::size_t attempt = 0;
  Descriptor socket;  ///< closed: until the deadline between two attempts
  bool connected = false, done = false;
  Greeting greeting = Greeting::calling("", "");
  Clock::time_point deadline;
};

class Introduction {
 public:
  Introduction(LinkListener own, std::span<const LinkPeer> peers, int count, Team& team)
      : own_(std::move(own)),
        peers_(peers),
        count_(count),
        team_(team),
        missing_(static_cast<int>(peers.size()) * count),
        reception_(own_.socket, link_secret(team, own_.address)) {
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
        Call& call = calls_.emplace_back();
        call.peer = peer;
        call.connection = connection;
        TRY(begin(call));
      }
    }
    while (missing_ > 0) {
      TRY(team_.check_alive());
      TRY(step());
    }
    return std::move(sockets_);
  }

 private:
  /// Which of the two calls: all that is needed is that both decide alike.
  bool calls(std::size_t peer) const { return own_.address.name < peers_[peer].address.name; }

  /// Begins to connect to the next address of the peer.
  Status begin(Call& call) {
    const LinkPeer& peer = peers_[call.peer];
    const auto& hosts = hosts_[call.peer];
    const bool tried = call.attempt >= hosts.size() * rounds && Clock::now() - begun_ > to_reach;
    if (hosts.empty() || tried) {
      return Error{ErrorKind::failed,
                   fmt::format("TCP: cannot reach {}: tried {} on port {}; allow TCP between the "
                               "hosts",
                               peer.name,
                               hosts.empty() ? "none, because it has no address"
                                             : fmt::format("{}", fmt::join(hosts, ", ")),
                               peer.address.port)};
    }
    auto socket = begin_connect(hosts[call.attempt % hosts.size()], peer.address.port);
    if (!socket) {
      give_up(call);
      return {};
    }
    call.socket = std::move(*socket);
    call.connected = false;
    call.greeting = Greeting::calling(link_secret(team_, peer.address),
                                      link_request(own_.address, call.connection));
    call.deadline = Clock::now() + to_connect;
    return {};
  }

  /// This attempt failed; the next begins at the deadline.
  void give_up(Call& call) {
    call.socket.close();
    ++call.attempt;
    const bool round_ended = call.attempt % hosts_[call.peer].size() == 0;
    call.deadline = Clock::now() + (round_ended ? between_rounds : between_rounds.zero());
  }

  Status step() {
    std::vector<pollfd> files;
    for (const Call& call : calls_) {  // poll() ignores a socket that is closed
      files.push_back({call.socket.number(), call.greeting.awaits(), 0});
    }
    reception_.add_interests(files);
    if (::poll(files.data(), files.size(), 100) < 0 && errno != EINTR) {
      return Error{ErrorKind::failed, fmt::format("TCP: poll: {}", std::strerror(errno))};
    }
    std::size_t at = 0;
    for (Call& call : calls_) {
      if (files[at++].revents != 0) {
        go_on(call);
      } else if (Clock::now() > call.deadline) {
        if (call.socket.is_open()) give_up(call);
        TRY(begin(call));
      }
    }
    calls_.remove_if([](const Call& call) { return call.done; });
    for (Reception::Caller& caller : reception_.greet()) answer(std::move(caller));
    return {};
  }

  /// Handles an event on the connection of `call`.
  void go_on(Call& call) {
    if (!call.connected) {
      if (!connect_result(call.socket)) return give_up(call);
      call.connected = true;
      call.deadline = Clock::now() + to_answer;
    }
    const auto greeted = call.greeting.advance(call.socket);
    if (!greeted) return give_up(call);
    if (!*greeted) return;
    call.done = true;
    take(std::move(call.socket), call.peer, call.connection);
  }

  /// A caller is accepted if a peer that calls has this name.
  void answer(Reception::Caller caller) {
    for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
      for (int connection = 0; connection < count_; ++connection) {
        if (calls(peer) ||
            caller.greeting.request() != link_request(peers_[peer].address, connection)) {
          continue;
        }
        if (!caller.greeting.accept(caller.socket)) return;
        return take(std::move(caller.socket), peer, connection);
      }
    }
    caller.greeting.refuse(caller.socket, "nobody waits for this connection");
  }

  /// A peer that gave up one address connects again from the next: the last connection counts.
  void take(Descriptor socket, std::size_t peer, int connection) {
    Descriptor& place = sockets_[peer][static_cast<std::size_t>(connection)];
    if (!place.is_open()) --missing_;
    place = std::move(socket);
  }

  LinkListener own_;
  const std::span<const LinkPeer> peers_;
  const int count_;
  Team& team_;
  int missing_;  // connections
  Reception reception_;
  const Clock::time_point begun_ = Clock::now();
  std::vector<std::vector<std::string>> hosts_;  // addresses to try, by peer
  std::list<Call> calls_;
  std::vector<std::vector<Descriptor>> sockets_;  // by peer and connection
};

/// Whether `text` could be a numeric address.
bool is_numeric(const std::string& text) {
  constexpr std::size_t most = 45;  // of IPv6 with IPv4 at its end
  return text.size() <= most &&
         text.find_first_not_of("0123456789abcdefABCDEF:.") == std::string::npos;
}

}  // namespace

std::string to_text(const LinkAddress& address) {
  return fmt::format("{} {} {} {}", address.name, address.port, address.boot,
                     fmt::join(address.hosts, " "));
}

Result<LinkAddress> parse_link_address(const std::string& text) {
  LinkAddress address;
  std::istringstream words(text);
  words >> address.name >> address.port >> address.boot;
  if (!words || address.port <= 0 || address.port > 65535) {
    return Error{ErrorKind::failed,
                 fmt::format("\"{}\" is not the address of a rank", shown_line(text, 200))};
  }
  constexpr std::size_t most_hosts = 256;
  for (std::string host; address.hosts.size() < most_hosts && words >> host;) {
    if (is_numeric(host)) address.hosts.push_back(host);
  }
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
