#include "ranks/team/rendezvous.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <random>
#include <thread>

#include "ranks/team/addresses.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view greeting = "assay team 1";
// Seconds to wait for a connection's first frame, and for an address that does not answer.
constexpr double hello_patience = 2, connect_patience = 2;
constexpr std::chrono::milliseconds retry_interval{100};

std::string members_text(const std::vector<TeamMember>& members) {
  std::string text;
  for (const TeamMember& member : members) {
    put(text, static_cast<std::uint64_t>(member.local_rank));
    put(text, static_cast<std::uint64_t>(member.process));
    put(text, member.host);
  }
  return text;
}

/// Numbers the local ranks of each host, in rank order.
void number_locals(std::vector<TeamMember>& members) {
  std::map<std::string, int> seen;
  for (TeamMember& member : members) member.local_rank = seen[member.host]++;
}

/// Compares in constant time, so the duration does not reveal how much of the token is right.
bool same_token(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  }
  return difference == 0;
}

/// What a new connection says about itself, and whether it is accepted.
struct Hello {
  TeamMember member;
  std::string complaint;  ///< the reason to reject it; empty: accepted
};

Hello read_hello(const Frame& frame, int size, const std::string& token,
                 const Gathering& gathering) {
  PayloadReader reader(frame.payload);
  const std::string word = reader.text();
  const std::string shown = reader.text();
  const std::uint64_t rank = reader.number(), its_size = reader.number();
  Hello hello;
  hello.member.process = static_cast<int>(reader.number());
  hello.member.host = reader.text();
  hello.member.rank = static_cast<int>(rank);
  if (frame.kind != 'h' || !reader.ok() || word != greeting || !same_token(shown, token)) {
    hello.complaint = "wrong token, or another version of assay";
  } else if (its_size != static_cast<std::uint64_t>(size)) {
    hello.complaint = fmt::format("this run has {} ranks, not {}", size, its_size);
  } else if (rank == 0 || rank >= static_cast<std::uint64_t>(size)) {
    hello.complaint = fmt::format("rank {} is not allowed; allowed: 1 to {}", rank, size - 1);
  } else if (gathering.wires[rank] != nullptr) {
    hello.complaint =
        fmt::format("there is a rank {} already, on {}", rank, gathering.members[rank].host);
  }
  return hello;
}

/// Accepts a connection, or returns null after `milliseconds`.
std::unique_ptr<Wire> accept_one(const Listener& listener, int milliseconds) {
  pollfd file{listener.socket(), POLLIN, 0};
  if (::poll(&file, 1, milliseconds) <= 0) return nullptr;
  const int socket = ::accept4(listener.socket(), nullptr, nullptr, SOCK_CLOEXEC);
  return socket < 0 ? nullptr : std::make_unique<Wire>(socket);
}

Result<Gathering> read_welcome(std::unique_ptr<Wire> wire, const Frame& frame, int size) {
  PayloadReader reader(frame.payload);
  Gathering gathering;
  for (int rank = 0; rank < size; ++rank) {
    TeamMember member;
    member.rank = rank;
    member.local_rank = static_cast<int>(reader.number());
    member.process = static_cast<int>(reader.number());
    member.host = reader.text();
    gathering.members.push_back(std::move(member));
  }
  if (!reader.ok()) return Error{ErrorKind::failed, "rank 0 sent a truncated list of ranks"};
  gathering.wires.push_back(std::move(wire));
  return gathering;
}

}  // namespace

Result<std::unique_ptr<Listener>> Listener::open(int port, bool local) {
  const auto complain = [&](const char* what) {
    return Error{ErrorKind::failed, fmt::format("cannot {} port {} for the other ranks: {}", what,
                                                port, std::strerror(errno))};
  };
  // An IPv6 socket accepts IPv4 too; a machine without IPv6 gets an IPv4 socket.
  int socket = local ? -1 : ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool six = socket >= 0;
  if (!six) socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return complain("open");
  auto listener = std::unique_ptr<Listener>(new Listener(socket, port));
  const int on = 1, off = 0;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (six) ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  sockaddr_in6 any6 = {};
  any6.sin6_family = AF_INET6;
  any6.sin6_port = htons(static_cast<std::uint16_t>(port));
  sockaddr_in any4 = {};
  any4.sin_family = AF_INET;
  any4.sin_port = any6.sin6_port;
  if (local) any4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const address =
      six ? reinterpret_cast<sockaddr*>(&any6) : reinterpret_cast<sockaddr*>(&any4);
  socklen_t length = six ? sizeof(any6) : sizeof(any4);
  if (::bind(socket, address, length) != 0) return complain("take");
  if (::listen(socket, 1024) != 0) return complain("listen on");
  if (::getsockname(socket, address, &length) != 0) return complain("name");
  listener->port_ = ntohs(six ? any6.sin6_port : any4.sin_port);
  return listener;
}

Result<Gathering> receive_ranks(const Listener& listener, int size, const std::string& token,
                                double seconds, const std::function<bool()>& hopeless) {
  const auto count = static_cast<std::size_t>(size);
  Gathering gathering;
  gathering.members.resize(count);
  gathering.wires.resize(count);
  gathering.members[0] = {0, 0, host_name(), ::getpid()};
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (std::size_t here = 1; here < count;) {
    if (Clock::now() > end || hopeless()) {
      std::string missing;
      for (std::size_t rank = 1; rank < count; ++rank) {
        if (gathering.wires[rank]) continue;
        missing += fmt::format("{}{}", missing.empty() ? "" : ", ", rank);
      }
      return Error{
          ErrorKind::failed,
          fmt::format("{} of {} ranks connected{}; missing: rank {}", here, size,
                      Clock::now() > end ? fmt::format(" within {:.0f} s", seconds) : "", missing)};
    }
    auto wire = accept_one(listener, 100);
    if (wire == nullptr) continue;
    const auto frame = wire->wait(hello_patience);
    if (!frame.ok()) continue;
    const Hello hello = read_hello(*frame, size, token, gathering);
    if (!hello.complaint.empty()) {
      // A stranger is told why it was rejected; it does not matter whether it still listens.
      if (!wire->send('n', hello.complaint).ok()) continue;
      continue;
    }
    const auto rank = static_cast<std::size_t>(hello.member.rank);
    gathering.members[rank] = hello.member;
    gathering.wires[rank] = std::move(wire);
    ++here;
  }
  number_locals(gathering.members);
  for (std::size_t rank = 1; rank < count; ++rank) {
    const Status sent = gathering.wires[rank]->send('w', members_text(gathering.members));
    if (!sent.ok()) {
      return Error{ErrorKind::failed, fmt::format("{} ended while the ranks gathered",
                                                  name_of(gathering.members[rank]))};
    }
  }
  return gathering;
}

Result<Gathering> join_rank_0(const std::string& addresses, int rank, int size,
                              const std::string& token, double seconds) {
  const auto places = parse_addresses(addresses);
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  std::string hello;
  put(hello, greeting);
  put(hello, token);
  put(hello, static_cast<std::uint64_t>(rank));
  put(hello, static_cast<std::uint64_t>(size));
  put(hello, static_cast<std::uint64_t>(::getpid()));
  put(hello, host_name());
  std::string why = "that is not an address";
  do {
    for (const auto& [host, port] : places) {
      const auto socket = connect_to(host, port, connect_patience);
      if (!socket.ok()) {
        why = socket.error().message;
        continue;
      }
      auto wire = std::make_unique<Wire>(*socket);
      const std::chrono::duration<double> left = end - Clock::now();
      const Status greeted = wire->send('h', hello);
      const auto reply =
          greeted.ok() ? wire->wait(std::max(left.count(), 1.0)) : Result<Frame>(greeted.error());
      if (reply.ok() && reply->kind == 'w') return read_welcome(std::move(wire), *reply, size);
      if (reply.ok() && reply->kind == 'n') {
        constexpr std::size_t most = 200;
        return Error{ErrorKind::failed, fmt::format("rank 0 at {} rejected rank {}: {}", addresses,
                                                    rank, reply->payload.substr(0, most))};
      }
      why = reply.ok() ? "the program that answered is not rank 0" : reply.error().message;
    }
    std::this_thread::sleep_for(retry_interval);
  } while (Clock::now() < end && !places.empty());
  return Error{ErrorKind::failed,
               fmt::format("rank {} cannot reach rank 0 at {} within {:.0f} s: {}", rank, addresses,
                           seconds, why)};
}

std::string new_token() {
  std::random_device device;  // a secret: must not depend on the seed
  std::string token;
  for (int i = 0; i < 4; ++i) token += fmt::format("{:08x}", device());
  return token;
}

std::string host_name() {
  std::array<char, 256> name = {};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

}  // namespace assay
