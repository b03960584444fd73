#include "cli/serving/serve_ranks.h"

#include <fmt/format.h>

#include <cstdlib>

#include "cli/measure/run_ranks.h"
#include "cli/serving/serve_partitions.h"
#include "compute/device/backend.h"
#include "ranks/collective/communicators.h"
#include "ranks/collective/mpi_world.h"
#include "ranks/launch/cpu_share.h"
#include "ranks/team/agreement.h"

namespace assay::cli {
namespace {

Result<TeamRequest> request_ranks(const Arguments& arguments, int count) {
  TeamRequest request;
  request.place = TRY(find_rank_place([](const char* name) { return std::getenv(name); }));
  if (request.place && request.place->size != count) {
    return Error{ErrorKind::usage,
                 fmt::format("--tensor-parallel {}: {} started this process as one of {}", count,
                             request.place->launcher, request.place->size)};
  }
  if (!request.place) request.ranks = count;
  request.without_secret = arguments.has("--without-secret");
  TRY(read_patience(arguments, request));
  request.arguments = {"serve"};
  const std::vector<std::string> shared = server_words(arguments, {});
  request.arguments.insert(request.arguments.end(), shared.begin(), shared.end());
  const bool is_rank_0 = !request.place || request.place->rank == 0;
  request.abandoned = abandoning(is_rank_0);
  return request;
}

Result<std::string> library_of(const Arguments& arguments, const Device& device, const Team& team) {
  const std::string asked = arguments.get("--library", "auto");
  if (asked != "auto") return asked;
  const std::string_view best = best_communicator_kind(device, team);
  if (!best.empty()) return std::string(best);
  return Error{ErrorKind::unavailable, "this build has no collective library for this device"};
}

Status serve_as_rank(const Arguments& arguments, Team& team,
                     const std::function<Status(Device&, ModelRanks)>& serve) {
  auto backends = make_backends();
  const std::string choice = arguments.get("--device");
  TRY(divide_cpus(team, chooses_cpu(backends, choice)));
  auto device = open_device_of_rank(backends, choice, own_place(team).local_rank);
  TRY(agree(team, "opening devices", device.ok() ? Status() : Status(device.error())));
  Communicators communicators(**device, team);
  const std::string library = TRY(library_of(arguments, **device, team));
  return serve(**device, {TRY(communicators.get(library)), &team});
}

}  // namespace

Status serve_on_ranks(const Arguments& arguments, int count, Terminal& terminal,
                      const std::function<Status(Device&, ModelRanks)>& serve) {
  const TeamRequest request = TRY(request_ranks(arguments, count));
  const std::string warning = TRY(warn_of_strangers(request));
  if (!warning.empty()) terminal.note("warning: " + warning + "\n");
  mpi_use_from_streams();  // before the ranks meet through MPI
  const TeamSession session = TRY(form_team(request));
  if (session.team->rank() > 0) close_output();
  const Status served = serve_as_rank(arguments, *session.team, serve);
  if (served.ok()) return served;
  if (session.team->rank() > 0) {
    // If another rank caused the end, that rank reports the reason and this one stays silent.
    return session.team->check_alive().ok() ? served : Error{served.error().kind, ""};
  }
  return Error{served.error().kind, with_failures(served.error().message, session.started)};
}

}  // namespace assay::cli
