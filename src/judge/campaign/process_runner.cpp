#include "judge/campaign/process_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>

#include "compute/device/cache_folder.h"
#include "core/hash.h"
#include "core/own_binary.h"
#include "core/program.h"
#include "core/write_file.h"
#include "judge/campaign/plan_load.h"
#include "judge/compare/emulated.h"
#include "measure/sampling/runner.h"
#include "ranks/team/greeting.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// Exit statuses of an `assay run` that ran to its end although cells went wrong: an error in a
/// cell, a failed verification (src/cli/exit_code.h).
constexpr int cell_error = 1, wrong_result = 3, nothing_ran = 4;

Error failed(std::string message) {
  return {ErrorKind::failed, std::move(message)};
}

void clean_up(const std::vector<std::string>& words) {
  if (words.empty()) return;
  ProgramStart start;
  start.words = words;
  start.timeout_seconds = 60;
  const auto ignored = run_program(start);  // usually there is nothing to clean up
  static_cast<void>(ignored);
}

Status write_files(const Launch& launch) {
  for (const auto& [path, text] : launch.files) {
    std::error_code ignored;
    fs::create_directories(path.parent_path(), ignored);
    TRY(write_file(path, text));
  }
  return {};
}

/// What a program that failed said of the cause: assay its own error, a container engine a first
/// line with the cause and more with advice, others their last words.
std::string cause_in(const ProgramEnd& end) {
  constexpr int least_of_engines = 125, most_of_engines = 127;  // docker, podman: the engine failed
  const std::string lines = "\n" + end.errors_tail;
  if (const std::size_t own = lines.rfind("\nassay: "); own != std::string::npos) {
    return lines.substr(own + 1, lines.find('\n', own + 1) - own - 1);
  }
  std::string_view text = end.errors_tail;
  if (end.status >= least_of_engines && end.status <= most_of_engines) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    return std::string(text.substr(0, text.find_first_of("\r\n")));
  }
  return last_line(text);
}

/// Whether the unit of a process that ended counts.
Status judge(const ProgramEnd& end, const UnitOutput& output, const CampaignPlan& plan,
             const UnitRequest& request, UnitResult& result) {
  const std::string told = cause_in(end);
  const std::string because = told.empty() ? "" : ": " + told;
  if (end.timed_out) {
    return failed(
        fmt::format("it was killed after {:.0f} s, the unit's timeout", plan.unit_timeout_seconds));
  }
  if (!output.problem().empty()) return failed(output.problem());
  const bool in_order = end.status == 0 || end.status == cell_error || end.status == wrong_result;
  // Where nothing could be measured, the first cell's reason says more than the last line.
  if (end.status == nothing_ran && !output.first_failure().empty()) {
    return failed(fmt::format("it exited with status {}: {}", end.status, output.first_failure()));
  }
  if (!in_order) return failed(fmt::format("it exited with status {}{}", end.status, because));
  if (output.cells() == 0) {
    return failed(
        fmt::format("it exited with status {} and printed no record{}", end.status, because));
  }
  if (output.cells() < plan.cells) {
    return failed(
        fmt::format("only {} of {} cells arrived{}", output.cells(), plan.cells, because));
  }
  if (end.status == 0) return {};
  result.reason = end.status == wrong_result ? "a result was wrong" : "a cell ended in an error";
  if (!output.first_failure().empty()) result.reason += ": " + output.first_failure();
  // A cell that fails twice fails reproducibly: the unit's other cells count.
  if (request.attempt == 1 || output.passed() == 0) return failed(result.reason);
  return {};
}

}  // namespace

std::vector<std::string> unit_arguments(const CampaignPlan& plan,
                                        const PlannedEnvironment& environment, std::size_t pair,
                                        const std::string& barrier, bool again) {
  std::vector<std::string> words = plan.measure;
  if (plan.commands) {
    words = {"run", inline_text(commands_of_unit(plan, environment, pair, again), {})};
  }
  words.insert(words.end(), {"--out", "-", "--seed", fmt::format("{}", plan.seed)});
  const std::string own = environment.where->device();
  const std::string device = own.empty() ? plan.device : own;
  if (!device.empty()) words.insert(words.end(), {"--device", device});
  if (!plan.telemetry.empty()) words.insert(words.end(), {"--telemetry", plan.telemetry});
  if (plan.unit_budget_seconds) {
    words.insert(words.end(), {"--budget", fmt::format("{}s", *plan.unit_budget_seconds)});
  }
  if (plan.ranks > 0) words.insert(words.end(), {"--ranks", fmt::format("{}", plan.ranks)});
  if (!plan.hosts.empty()) words.insert(words.end(), {"--hosts", plan.hosts});
  if (!barrier.empty()) words.insert(words.end(), {"--barrier", barrier});
  return words;
}

LaunchContext launch_context(const CampaignPlan& plan, const Member& member,
                             const fs::path& folder) {
  static const GpuAccess gpus = gpu_access();
  LaunchContext context;
  if (const auto binary = own_binary()) context.binary = *binary;
  context.environment = plan.environments[member.index].name;
  context.unit =
      fmt::format("assay-{}-{}", sha256_hex(folder.string()).substr(0, 8), member.environment);
  context.folder = folder;
  context.cache = cache_folder();
  context.gpus = gpus;
  return context;
}

ProcessRunner::ProcessRunner(const CampaignPlan& plan, fs::path folder,
                             std::function<bool()> stop_requested)
    : plan_(plan), folder_(std::move(folder)), stop_requested_(std::move(stop_requested)) {}

std::vector<UnitResult> ProcessRunner::run(const std::vector<UnitRequest>& requests) {
  if (requests.size() == 1) return {run_one(requests.front(), "")};
  const fs::path meeting =
      folder_ / fmt::format("barrier-{}-{}", requests.front().position, requests.front().attempt);
  std::error_code ignored;
  fs::remove_all(meeting, ignored);
  fs::create_directories(meeting, ignored);
  const std::string barrier = fmt::format("{}:{}", requests.size(), meeting.string());
  std::vector<UnitResult> results(requests.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    threads.emplace_back([&, i] { results[i] = run_one(requests[i], barrier); });
  }
  for (std::thread& thread : threads) thread.join();
  fs::remove_all(meeting, ignored);
  return results;
}

UnitResult ProcessRunner::run_one(const UnitRequest& request, const std::string& barrier) {
  UnitResult result;
  const auto begin = std::chrono::steady_clock::now();
  result.begin = utc_now();
  const Status ran = run_process(request, barrier, result);
  result.complete = ran.ok();
  if (!ran.ok()) result.reason = ran.error().message;
  result.end = utc_now();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

Status ProcessRunner::prepare(const Member& member, const LaunchContext& context,
                              const std::vector<std::string>& cleanup) {
  const std::lock_guard guard(mutex_);
  if (prepared_.count(member.environment) > 0) return {};
  TRY(plan_.environments[member.index].where->prepare(context));
  clean_up(cleanup);  // an earlier call that was killed may have left something behind
  prepared_.insert(member.environment);
  return {};
}

/// A campaign compares its environments, and results of a model must not be compared with real
/// ones.
Status ProcessRunner::refuse_other_kind(const Member& member, const UnitOutput& output) {
  const std::lock_guard guard(mutex_);
  std::string& known = output.emulated() ? emulated_ : real_;
  if (known.empty()) known = member.environment;
  if (emulated_.empty() || real_.empty()) return {};
  return mixture(emulated_, real_);
}

Status ProcessRunner::run_process(const UnitRequest& request, const std::string& barrier,
                                  UnitResult& result) {
  const PlannedEnvironment& environment = plan_.environments[request.member.index];
  const LaunchContext context = launch_context(plan_, request.member, folder_);
  const bool again = request.member.environment != environment.name;
  const Launch launch = TRY(environment.where->launch(
      unit_arguments(plan_, environment, request.pair, barrier, again), context));
  TRY(prepare(request.member, context, launch.cleanup));
  const auto keep = [&result](Status status) {
    if (!status.ok()) result.store_failure = status.error();
    return status;
  };
  TRY(keep(write_files(launch)));
  AppliedLimits limits = TRY(apply_limits(launch.limits, context.unit));
  auto store = Store::open(folder_ / request.member.environment);
  TRY(keep(store.ok() ? Status() : Status(store.error())));
  UnitOutput output(*store);
  ProgramStart start;
  start.words = limits.prefix;
  start.words.insert(start.words.end(), launch.words.begin(), launch.words.end());
  start.variables = launch.variables;
  const bool has_token =
      std::any_of(launch.variables.begin(), launch.variables.end(),
                  [](const auto& variable) { return variable.first.starts_with("ASSAY_TOKEN"); });
  if (launch.needs_token && !has_token) start.variables.emplace_back("ASSAY_TOKEN", new_token());
  start.input = launch.input;
  start.cpus = limits.cpus;
  start.address_space_bytes = limits.address_space_bytes;
  start.control_groups = limits.groups.process_files();
  start.timeout_seconds = plan_.unit_timeout_seconds;
  start.stop_requested = [&] { return stop_requested_() || !output.stored().ok(); };
  start.line = [&](std::string_view line) { output.take(line); };
  const ProgramEnd end = TRY(run_program(start));
  TRY(keep(output.stored()));
  result.run = output.run();
  result.exit_status = end.status;
  result.stderr_tail = end.errors_tail;
  result.values = output.values();
  result.taken_share = output.taken_share();
  result.interrupted = end.stopped;
  if (end.stopped || end.timed_out || end.status > 128) clean_up(launch.cleanup);
  TRY(judge(end, output, plan_, request, result));
  return refuse_other_kind(request.member, output);
}

}  // namespace assay
