#include "ranks/launch/team_session.h"

#include <fmt/format.h>

#include <iostream>
#include <numeric>

#include "core/tcp.h"
#include "ranks/collective/mpi_world.h"
#include "ranks/team/addresses.h"
#include "ranks/team/greeting.h"

namespace assay {
namespace {

/// Where rank 0 is and what to present to it, as far as known.
struct Meeting {
  int rank = 0, size = 1;
  int port = 0;           ///< port that rank 0 listens on; 0: any
  std::string addresses;  ///< of rank 0
  std::string token;
};

/// A rank started over ssh reads its token as a line from standard input.
std::string read_token(const std::string& token) {
  if (token != "-") return token;
  std::string line;
  std::getline(std::cin, line);
  return line;
}

/// Rank 0 of an MPI job tells the other ranks where it listens.
Status meet_through_mpi(Meeting& meeting, const Descriptor& listener) {
  std::string told;
  if (meeting.rank == 0) {
    meeting.token = new_token();
    meeting.addresses = with_port(own_addresses(), tcp_port(listener));
    told = meeting.token + " " + meeting.addresses;
  }
  const std::string heard = TRY(mpi_broadcast(told));
  const std::size_t blank = heard.find(' ');
  meeting.token = heard.substr(0, blank);
  meeting.addresses = blank == std::string::npos ? "" : heard.substr(blank + 1);
  return {};
}

Status start_ranks(const TeamRequest& request, const Meeting& meeting, StartedRanks& started) {
  RankStart start{request.arguments, meeting.size, meeting.addresses, meeting.token};
  if (request.place) return started.start_here(start, meeting.rank + 1, request.place->here - 1, 1);
  if (request.hosts.empty()) return started.start_here(start, 1, meeting.size - 1, 1);
  TRY(started.start_here(start, 1, request.hosts.front().ranks - 1, 1));
  int first = request.hosts.front().ranks;
  for (std::size_t i = 1; i < request.hosts.size(); ++i) {
    TRY(started.start_there(start, first, request.hosts[i]));
    first += request.hosts[i].ranks;
  }
  return {};
}

Result<Meeting> plan_meeting(const TeamRequest& request) {
  Meeting meeting;
  if (request.place) {
    const RankPlace& place = *request.place;
    if (request.ranks > 0 || !request.hosts.empty()) {
      return Error{
          ErrorKind::usage,
          fmt::format("--ranks and --hosts cannot be used in ranks that {} started: this is one "
                      "of {}",
                      place.launcher, place.size)};
    }
    meeting = {place.rank, place.size, 0, place.address, read_token(place.token)};
    const auto addresses = parse_addresses(place.address);
    if (!addresses.empty()) meeting.port = addresses.front().second;
    return meeting;
  }
  meeting.size = std::max(request.ranks, 1);
  if (!request.hosts.empty()) {
    if (request.ranks > 0) {
      return Error{ErrorKind::usage,
                   "--hosts specifies how many ranks each host has: HOST:RANKS; leave "
                   "out --ranks"};
    }
    meeting.size =
        std::accumulate(request.hosts.begin(), request.hosts.end(), 0,
                        [](int sum, const HostSlots& slots) { return sum + slots.ranks; });
  }
  meeting.token = new_token();
  return meeting;
}

}  // namespace

Result<TeamSession> form_team(const TeamRequest& request) {
  Meeting meeting = TRY(plan_meeting(request));
  const bool through_mpi = request.place && request.place->address.empty();
  TeamSession session;
  Descriptor listener;
  if (meeting.rank == 0) {
    const bool local = !request.place && request.hosts.empty();
    listener = TRY(listen_for_ranks(meeting.port, local));
    if (meeting.addresses.empty()) {
      meeting.addresses = with_port(local ? std::vector<std::string>{"127.0.0.1"} : own_addresses(),
                                    tcp_port(listener));
    }
  }
  if (through_mpi) TRY(meet_through_mpi(meeting, listener));
  TRY(start_ranks(request, meeting, session.started));
  auto gathering =
      meeting.rank == 0
          ? receive_ranks(listener, meeting.size, meeting.token, request.gathering_seconds,
                          [&] { return !session.started.failures().empty(); })
          : join_rank_0(meeting.addresses, meeting.rank, meeting.size, meeting.token,
                        request.gathering_seconds);
  if (!gathering.ok()) {
    const std::vector<std::string> failures = session.started.failures();
    if (failures.empty()) return gathering.error();
    return Error{gathering.error().kind,
                 fmt::format("{}; {}", gathering.error().message, fmt::join(failures, "; "))};
  }
  session.team =
      make_tcp_team(std::move(*gathering), meeting.rank, request.patience, request.abandoned);
  return session;
}

}  // namespace assay
