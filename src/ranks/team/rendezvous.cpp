#include "ranks/team/rendezvous.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <thread>

#include "core/shown_text.h"
#include "core/tcp.h"
#include "ranks/team/addresses.h"
#include "ranks/team/greeting.h"
#include "ranks/team/pending_callers.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

// Seconds to wait at an address that does not answer, and for rank 0 there, which may not yet
// listen or have strangers to send away: then the next address is tried, and all of them again.
constexpr double connect_patience = 2, greeting_patience = 10;
constexpr std::chrono::milliseconds retry_interval{100};
constexpr std::size_t most_name = 255;  // bytes of a host's name
constexpr char welcome = 'w';           // the frame that rank 0 sends when all ranks are there

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

/// What a rank asks of rank 0.
std::string join_request(int rank, int size) {
  std::string request = "team ";
  put(request, static_cast<std::uint64_t>(rank));
  put(request, static_cast<std::uint64_t>(size));
  put(request, static_cast<std::uint64_t>(::getpid()));
  put(request, host_name());
  return request;
}

/// Who calls. Error: failed, saying why it cannot join.
Result<TeamMember> read_request(std::string_view request, int size, const Gathering& gathering) {
  const bool of_team = request.starts_with("team ");
  PayloadReader reader(of_team ? request.substr(5) : "");
  const std::uint64_t rank = reader.number(), its_size = reader.number();
  TeamMember member;
  member.process = static_cast<int>(reader.number());
  member.host = shown_line(reader.text(), most_name);
  member.rank = static_cast<int>(rank);
  const auto refused = [](std::string why) { return Error{ErrorKind::failed, std::move(why)}; };
  if (!reader.ok()) return refused("this is rank 0 of a team, which was not asked for");
  if (its_size != static_cast<std::uint64_t>(size)) {
    return refused(fmt::format("this run has {} ranks, not {}", size, its_size));
  }
  if (rank == 0 || rank >= static_cast<std::uint64_t>(size)) {
    return refused(fmt::format("rank {} is not allowed; allowed: 1 to {}", rank, size - 1));
  }
  if (gathering.wires[rank] != nullptr) {
    return refused(
        fmt::format("there is a rank {} already, on {}", rank, gathering.members[rank].host));
  }
  return member;
}

/// Lets a caller into the team, or tells it why not.
bool let_in(Reception::Caller caller, int size, Gathering& gathering) {
  const auto member = read_request(caller.greeting.request(), size, gathering);
  if (!member) {
    caller.greeting.refuse(caller.socket, member.error().message);
    return false;
  }
  if (!caller.greeting.accept(caller.socket)) return false;
  const auto rank = static_cast<std::size_t>(member->rank);
  gathering.members[rank] = *member;
  gathering.wires[rank] = std::make_unique<Wire>(std::move(caller.socket));
  return true;
}

/// Calls rank 0 at one address and asks to join. `refused`: asking again is in vain.
Result<Descriptor> ask_to_join(const std::string& host, int port, const std::string& token,
                               const std::string& request, double seconds, bool& refused) {
  Descriptor socket = TRY(connect_to(host, port, connect_patience));
  Greeting greeting = Greeting::calling(token, request);
  const Status greeted = finish_greeting(greeting, socket, seconds);
  refused = greeting.refused();
  if (!greeted) return greeted.error();
  return socket;
}

Result<Gathering> read_welcome(std::unique_ptr<Wire> wire, const Frame& frame, int size) {
  PayloadReader reader(frame.payload);
  Gathering gathering;
  for (int rank = 0; rank < size; ++rank) {
    TeamMember member;
    member.rank = rank;
    member.local_rank = static_cast<int>(reader.number());
    member.process = static_cast<int>(reader.number());
    member.host = shown_line(reader.text(), most_name);
    gathering.members.push_back(std::move(member));
  }
  if (!reader.ok()) return Error{ErrorKind::failed, "rank 0 sent a truncated list of ranks"};
  gathering.wires.push_back(std::move(wire));
  return gathering;
}

}  // namespace

Result<Descriptor> listen_for_ranks(int port, bool local) {
  auto socket = listen_tcp(port, local);
  if (socket) return socket;
  return Error{ErrorKind::failed, fmt::format("cannot listen on port {} for the other ranks: {}",
                                              port, socket.error().message)};
}

Result<Gathering> receive_ranks(const Descriptor& listener, int size, const std::string& token,
                                double seconds, const std::function<bool()>& hopeless) {
  const auto count = static_cast<std::size_t>(size);
  Reception reception(listener, token);
  Gathering gathering;
  gathering.secret = token;
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
    std::vector<pollfd> files;
    reception.add_interests(files);
    ::poll(files.data(), files.size(), 100);
    for (Reception::Caller& caller : reception.greet()) {
      if (let_in(std::move(caller), size, gathering)) ++here;
    }
  }
  number_locals(gathering.members);
  for (std::size_t rank = 1; rank < count; ++rank) {
    const Status sent = gathering.wires[rank]->send(welcome, members_text(gathering.members));
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
  const std::string request = join_request(rank, size);
  std::string why = "that is not an address";
  do {
    for (const auto& [host, port] : places) {
      const auto left = [&] {
        return std::max(std::chrono::duration<double>(end - Clock::now()).count(), 1.0);
      };
      bool refused = false;
      auto socket =
          ask_to_join(host, port, token, request, std::min(left(), greeting_patience), refused);
      if (refused) {
        return Error{ErrorKind::failed, fmt::format("rank 0 at {} rejected rank {}: {}", addresses,
                                                    rank, socket.error().message)};
      }
      if (!socket) {
        why = socket.error().message;
        continue;
      }
      auto wire = std::make_unique<Wire>(std::move(*socket));
      const auto frame = wire->wait(left());
      if (frame.ok() && frame->kind == welcome) {
        Gathering gathering = TRY(read_welcome(std::move(wire), *frame, size));
        gathering.secret = token;
        return gathering;
      }
      why = frame.ok() ? "rank 0 sent something else than a welcome" : frame.error().message;
    }
    std::this_thread::sleep_for(retry_interval);
  } while (Clock::now() < end && !places.empty());
  return Error{ErrorKind::failed,
               fmt::format("rank {} cannot reach rank 0 at {} within {:.0f} s: {}", rank, addresses,
                           seconds, why)};
}

std::string host_name() {
  std::array<char, 256> name = {};
  const bool known = ::gethostname(name.data(), name.size() - 1) == 0;
  return known ? shown_line(name.data(), most_name) : "localhost";
}

}  // namespace assay
