#include "ranks/launch/team_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "core/tcp.h"
#include "ranks/collective/mpi_world.h"
#include "ranks/launch/other_users.h"
#include "ranks/launch/own_host.h"
#include "ranks/team/addresses.h"
#include "ranks/team/greeting.h"

namespace assay {
namespace {

/// The address of rank 0 and the token, as far as known.
struct Meeting {
  int rank = 0, size = 1;
  int port = 0;           ///< port that rank 0 listens on; 0: any
  std::string addresses;  ///< addresses of rank 0
  std::string token;
};

/// Rank 0 of an MPI job broadcasts its address. It also broadcasts the token, unless it was given
/// one, because then all ranks were.
Status meet_through_mpi(Meeting& meeting, const Descriptor& listener) {
  std::string told;
  if (meeting.rank == 0) {
    meeting.addresses = format_addresses(own_addresses(), tcp_port(listener));
    const bool given = !meeting.token.empty();
    if (!given) meeting.token = new_token();
    told = (given ? "" : meeting.token) + " " + meeting.addresses;
  }
  const std::string heard = TRY(mpi_broadcast(told));
  const std::size_t blank = heard.find(' ');
  if (blank > 0) meeting.token = heard.substr(0, blank);
  meeting.addresses = blank == std::string::npos ? "" : heard.substr(blank + 1);
  if (!meeting.token.empty()) return {};
  return Error{ErrorKind::usage,
               fmt::format("rank 0 has a token in ASSAY_TOKEN or ASSAY_TOKEN_FILE and rank {} has "
                           "none; pass it to all ranks, e.g. mpirun -x ASSAY_TOKEN",
                           meeting.rank)};
}

/// "node1:8,node2"
std::string text_of(const std::vector<HostSlots>& hosts) {
  std::string text;
  for (const HostSlots& slots : hosts) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ",", slots.host,
                        slots.ranks == 1 ? "" : fmt::format(":{}", slots.ranks));
  }
  return text;
}

/// Checks that the first host is this machine: rank 0 and the ranks of the first host run here.
Status check_first_host(const std::vector<HostSlots>& hosts) {
  if (hosts.empty() || is_this_machine(hosts.front().host)) return {};
  std::vector<HostSlots> better = hosts;
  const auto own = std::find_if(better.begin(), better.end(),
                                [](const HostSlots& slots) { return is_this_machine(slots.host); });
  const bool there = own != better.end();
  if (there) {
    std::rotate(better.begin(), own, own + 1);
  } else {
    better.insert(better.begin(), {host_name(), hosts.front().ranks});
  }
  return Error{ErrorKind::usage,
               fmt::format("--hosts: {} is not this machine, {}, which comes first, since rank 0 "
                           "runs here: --hosts {}{}",
                           hosts.front().host, host_name(), text_of(better),
                           there ? "" : "; to leave this machine out, start assay on another")};
}

Status start_ranks(const TeamRequest& request, const Meeting& meeting, StartedRanks& started) {
  RankStart start{request.arguments, meeting.size, meeting.addresses, meeting.token,
                  request.gathering_seconds};
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
    meeting = {place.rank, place.size, 0, place.address, place.token};
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
    TRY(check_first_host(request.hosts));
    meeting.size =
        std::accumulate(request.hosts.begin(), request.hosts.end(), 0,
                        [](int sum, const HostSlots& slots) { return sum + slots.ranks; });
  }
  meeting.token = new_token();
  return meeting;
}

}  // namespace

Result<std::string> warn_of_strangers(const TeamRequest& request) {
  if (!request.place || request.place->rank != 0 || !request.place->open) return std::string();
  const std::string open = fmt::format(
      "this run is open to others: who can reach {} and knows the job can take a rank's "
      "place; set ASSAY_TOKEN to one random text for all ranks, or ASSAY_TOKEN_FILE to "
      "a file that holds it and that only you can read",
      request.place->address);
  const auto users = other_users(::geteuid());
  if (request.without_secret || (users && users->empty())) return open;
  return Error{
      ErrorKind::usage,
      fmt::format("{}; it does not start, because {}, unless --without-secret is given", open,
                  users ? fmt::format("this machine runs processes of other users ({})",
                                      fmt::join(*users, ", "))
                        : "this machine hides processes of other users")};
}

Result<TeamSession> form_team(const TeamRequest& request) {
  Meeting meeting = TRY(plan_meeting(request));
  const bool through_mpi = request.place && request.place->address.empty();
  TeamSession session;
  Descriptor listener;
  if (meeting.rank == 0) {
    const bool local = !request.place && request.hosts.empty();
    listener = TRY(listen_for_ranks(meeting.port, local));
    if (meeting.addresses.empty()) {
      meeting.addresses = format_addresses(
          local ? std::vector<std::string>{"127.0.0.1"} : own_addresses(), tcp_port(listener));
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
