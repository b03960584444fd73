#include "cli/measure/run_ranks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "core/descriptor.h"
#include "core/units.h"
#include "measure/sampling/team_plan.h"
#include "ranks/collective/mpi_world.h"
#include "ranks/team/agreement.h"
#include "ranks/team/rendezvous.h"

namespace assay::cli {
namespace {

constexpr std::uint64_t most_ranks_here = 4096;

/// Rank 0 stores the results; the other ranks only check whether to stop.
class SilentObserver final : public RunObserver {
 public:
  void starting(std::size_t, const Cell&) override {}
  Status finished(std::size_t, Record) override { return {}; }
  bool stop_requested() override { return interrupt_requested(); }
  [[noreturn]] void hung(std::size_t, Record) override { std::_Exit(exit_nothing_ran); }
};

bool asks_for_several(const TeamRequest& request) {
  return request.place || request.ranks > 1 || !request.hosts.empty();
}

const Cell* first_team_cell(const Plan& plan) {
  for (const Cell& cell : plan.cells) {
    const Benchmark* benchmark = find_benchmark(cell.benchmark());
    if (benchmark != nullptr && benchmark->takes_team()) return &cell;
  }
  return nullptr;
}

bool queues_collectives(const Plan& plan) {
  return std::any_of(plan.cells.begin(), plan.cells.end(), [](const Cell& cell) {
    const Benchmark* benchmark = find_benchmark(cell.benchmark());
    return benchmark != nullptr && benchmark->queues_collectives();
  });
}

}  // namespace

std::function<void(const Error&)> abandoning(bool say_it) {
  return [say_it](const Error& error) {
    if (say_it) {
      std::fputs(without_controls(fmt::format("\nassay: {}\n", error.message), false).c_str(),
                 stderr);
    }
    ::_exit(exit_nothing_ran);
  };
}

Status read_patience(const Arguments& arguments, TeamRequest& request) {
  if (!arguments.has("--patience")) return {};
  const auto patience = parse_duration(arguments.get("--patience"));
  if (!patience.ok()) return about("--patience", patience.error());
  constexpr double least = 1, most = 24 * 3600, least_silence = 5;  // ranks speak every second
  if (*patience < least || *patience > most) {
    return Error{ErrorKind::usage, fmt::format("--patience \"{}\" is not allowed; allowed: 1s to "
                                               "24h",
                                               arguments.get("--patience"))};
  }
  request.patience.step_seconds = *patience;
  request.patience.silence_seconds =
      std::clamp(*patience, least_silence, request.patience.silence_seconds);
  request.gathering_seconds = std::min(request.gathering_seconds, *patience);
  return {};
}

Result<TeamRequest> read_team_request(const Arguments& arguments, const Plan& plan) {
  TeamRequest request;
  request.place = TRY(find_rank_place([](const char* name) { return std::getenv(name); }));
  if (arguments.has("--ranks")) {
    const auto ranks = parse_integer(arguments.get("--ranks"));
    if (!ranks.ok() || *ranks < 1 || *ranks > most_ranks_here) {
      return Error{ErrorKind::usage, fmt::format("--ranks \"{}\" is not allowed; allowed: 1 to {}",
                                                 arguments.get("--ranks"), most_ranks_here)};
    }
    request.ranks = static_cast<int>(*ranks);
  }
  if (arguments.has("--hosts")) {
    auto hosts = parse_hosts(arguments.get("--hosts"));
    if (!hosts.ok()) return about("--hosts", hosts.error());
    request.hosts = std::move(*hosts);
  }
  request.without_secret = arguments.has("--without-secret");
  TRY(read_patience(arguments, request));
  const Cell* cell = first_team_cell(plan);
  if (cell == nullptr && (request.ranks > 1 || !request.hosts.empty())) {
    return Error{ErrorKind::usage, fmt::format("{} has no benchmark for several ranks; see `assay "
                                               "list`",
                                               plan.name)};
  }
  // The cells come from rank 0; the arguments of a started rank only need to name a benchmark for
  // ranks.
  if (cell != nullptr) request.arguments = {"run", cell->benchmark()};
  for (const char* option : {"--device", "--telemetry", "--patience"}) {
    if (!arguments.has(option)) continue;
    request.arguments.insert(request.arguments.end(), {option, arguments.get(option)});
  }
  const bool is_rank_0 = !request.place || request.place->rank == 0;
  request.abandoned = abandoning(is_rank_0);
  return request;
}

double device_patience(const TeamRequest& request) {
  const TeamPatience& patience = request.patience;
  if (!asks_for_several(request)) return patience.step_seconds;
  // A rank that waits for another does not hang, so the team's own patience must end first.
  return 2 * patience.step_seconds + patience.silence_seconds + patience.last_seconds;
}

Result<TeamSession> meet_ranks(const TeamRequest& request, const Plan& plan, Terminal& terminal) {
  if (!asks_for_several(request) || first_team_cell(plan) == nullptr) return TeamSession();
  const std::string warning = TRY(warn_of_strangers(request));
  if (!warning.empty()) terminal.note("warning: " + warning + "\n");
  if (queues_collectives(plan)) mpi_use_from_streams();  // before the ranks meet through MPI
  return form_team(request);
}

std::unique_ptr<Team> team_to_meet(const TeamRequest& request) {
  std::vector<HostSlots> hosts = request.hosts;
  if (hosts.empty()) {
    const int here = request.place ? request.place->size : request.ranks;
    hosts = {{host_name(), std::max(here, 1)}};
  }
  std::vector<TeamMember> members;
  for (const HostSlots& host : hosts) {
    for (int local = 0; local < host.ranks; ++local) {
      members.push_back({static_cast<int>(members.size()), local, host.host, 0});
    }
  }
  return planned_team(std::move(members));
}

int measure_for_rank_0(const Result<std::unique_ptr<Device>>& device, RunOptions options,
                       Team& team) {
  close_output();
  catch_interrupts();
  const Status opened =
      agree(team, "opening devices", device.ok() ? Status() : Status(device.error()));
  if (!opened.ok()) return exit_nothing_ran;
  const auto plan = plan_of_rank_0(team, {});
  if (!plan.ok()) return exit_nothing_ran;
  options.seed = plan->seed;
  options.budget_seconds.reset();  // rank 0 enforces it
  SilentObserver observer;
  const auto outcome = run_cells(plan->cells, **device, options, observer, team);
  return outcome.ok() ? exit_ok : exit_nothing_ran;
}

std::string with_failures(const std::string& message, const StartedRanks& started) {
  // A lost rank is noticed before its exit status is known.
  for (int i = 0; i < 100 && started.failures().empty() && !started.all_ended(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::string text = message;
  for (const std::string& failure : started.failures()) text += "; " + failure;
  return text;
}

bool is_other_rank() {
  // The first variable that is set decides, so the inner of two nested jobs counts.
  for (const char* name :
       {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"}) {
    if (const char* rank = std::getenv(name)) return std::string_view(rank) != "0";
  }
  return false;
}

void close_output() {
  const Descriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  ::dup2(nowhere.number(), STDOUT_FILENO);
}

}  // namespace assay::cli
