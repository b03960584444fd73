#include "judge/campaign/unit_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "compute/device/cache_folder.h"
#include "core/hash.h"
#include "core/own_binary.h"
#include "core/write_file.h"
#include "judge/campaign/plan_load.h"
#include "ranks/environments/control_group.h"
#include "ranks/team/greeting.h"

namespace assay {

namespace fs = std::filesystem;

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

std::vector<std::string> look_arguments(const CampaignPlan& plan,
                                        const PlannedEnvironment& environment) {
  CampaignPlan of_look = plan;
  of_look.telemetry = "off";
  std::vector<std::string> words = unit_arguments(of_look, environment, 0, "");
  words.emplace_back("--check");
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

Status write_files(const Launch& launch) {
  for (const auto& [path, text] : launch.files) {
    std::error_code ignored;
    fs::create_directories(path.parent_path(), ignored);
    TRY(write_file(path, text));
  }
  return {};
}

Result<ProgramEnd> run_launch(const Launch& launch, const LaunchContext& context,
                              const LaunchCare& care) {
  AppliedLimits limits = TRY(apply_limits(launch.limits, context.unit));
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
  start.timeout_seconds = care.timeout_seconds;
  start.stop_requested = care.stop_requested;
  start.line = care.line;
  ProgramEnd end = TRY(run_program(start));
  if (end.stopped || end.timed_out || end.status > 128) clean_up(launch);
  return end;
}

void clean_up(const Launch& launch) {
  if (launch.cleanup.empty()) return;
  ProgramStart start;
  start.words = launch.cleanup;
  start.timeout_seconds = 60;
  const auto ignored = run_program(start);  // usually there is nothing to clean up
  static_cast<void>(ignored);
}

std::string cause_in(const ProgramEnd& end) {
  // docker's and podman's statuses for errors of the engine
  constexpr int least_of_engines = 125, most_of_engines = 127;
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

}  // namespace assay
