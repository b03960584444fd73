#include "judge/campaign/process_runner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "core/program.h"
#include "judge/campaign/first_look.h"
#include "judge/campaign/unit_launch.h"
#include "measure/sampling/runner.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// Exit statuses of an `assay run` that ran to its end although cells failed: an error in a cell,
/// or a failed verification (src/cli/exit_code.h).
constexpr int cell_error = 1, wrong_result = 3, nothing_ran = 4;

Error failed(std::string message) {
  return {ErrorKind::failed, std::move(message)};
}

/// Decides whether the unit of an ended process counts.
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
  // If nothing could be measured, the first cell's reason is more helpful than the last line.
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
  // A cell that fails twice fails reproducibly; the unit's other cells count.
  if (request.attempt == 1 || output.passed() == 0) return failed(result.reason);
  return {};
}

}  // namespace

ProcessRunner::ProcessRunner(const CampaignPlan& plan, fs::path folder,
                             std::function<bool()> stop_requested,
                             std::function<Status(const std::vector<EnvironmentLook>&)> looked)
    : plan_(plan),
      folder_(std::move(folder)),
      stop_requested_(std::move(stop_requested)),
      looked_(std::move(looked)),
      // Commands are exempt: one may print the records of many cells, or take as long as it likes.
      turns_(plan.commands ? std::nullopt : plan.unit_budget_seconds) {}

std::vector<UnitResult> ProcessRunner::run(const std::vector<UnitRequest>& requests) {
  if (!has_looked_) {
    if (const Status look = first_look(); !look.ok()) {
      UnitResult refused;
      refused.interrupted = look.error().kind == ErrorKind::interrupted;
      if (!refused.interrupted) refused.end_of_campaign = refusal_ = look.error();
      return std::vector<UnitResult>(requests.size(), refused);
    }
    has_looked_ = true;
    refusal_.reset();
  }
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

Status ProcessRunner::first_look() {
  auto looks = TRY(look_at_environments(plan_, folder_, stop_requested_));
  return looked_(looks);
}

/// Removes what an earlier process that was killed may have left behind.
void ProcessRunner::clean_up_once(const Member& member, const Launch& launch) {
  const MutexLock guard(mutex_);
  if (cleaned_.insert(member.environment).second) clean_up(launch);
}

std::vector<std::string> ProcessRunner::arguments_of(const UnitRequest& request,
                                                     const std::string& barrier) {
  const PlannedEnvironment& environment = plan_.environments[request.member.index];
  const bool again = request.member.environment != environment.name;
  std::vector<std::string> words = unit_arguments(plan_, environment, request.pair, barrier, again);
  const MutexLock guard(mutex_);
  const std::vector<std::size_t>& last = turns_.last_in(request.pair);
  if (!last.empty()) {
    words.insert(words.end(), {"--last", fmt::format("{}", fmt::join(last, ","))});
  }
  return words;
}

Status ProcessRunner::run_process(const UnitRequest& request, const std::string& barrier,
                                  UnitResult& result) {
  const PlannedEnvironment& environment = plan_.environments[request.member.index];
  const LaunchContext context = launch_context(plan_, request.member, folder_);
  const Launch launch = TRY(environment.where->launch(arguments_of(request, barrier), context));
  clean_up_once(request.member, launch);
  const auto keep = [&result](Status status) {
    if (!status.ok()) result.end_of_campaign = status.error();
    return status;
  };
  TRY(keep(write_files(launch)));
  auto store = Store::open(folder_ / request.member.environment);
  TRY(keep(store.ok() ? Status() : Status(store.error())));
  UnitOutput output(*store);
  const ProgramEnd end =
      TRY(run_launch(launch, context,
                     {.timeout_seconds = plan_.unit_timeout_seconds,
                      .stop_requested = [&] { return stop_requested_() || !output.stored().ok(); },
                      .line = [&](std::string_view line) { output.take(line); }}));
  TRY(keep(output.stored()));
  result.run = output.run();
  result.exit_status = end.status;
  result.stderr_tail = end.errors_tail;
  result.values = output.values();
  result.taken_share = output.taken_share();
  result.interrupted = end.stopped;
  if (end.status == 0) {
    const MutexLock guard(mutex_);
    turns_.learn(request.pair, output.cell_times());
  }
  return judge(end, output, plan_, request, result);
}

}  // namespace assay
