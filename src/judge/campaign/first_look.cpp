#include "judge/campaign/first_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>

#include "core/json_text.h"
#include "judge/campaign/unit_launch.h"
#include "judge/compare/emulated.h"
#include "results/record/record.h"
#include "results/store/record_json.h"

namespace assay {
namespace {

constexpr std::size_t most_cells = 1'000'000;     // limit of stored cells of one environment
constexpr int wrong_words = 2;                    // usage error (src/cli/exit_code.h)
constexpr std::string_view own_mark = "assay: ";  // begins the last line of a failed assay

/// Adds the cell of a record in `line`; other lines, such as a banner or the fingerprint, contain
/// no cell.
void take(std::string_view line, EnvironmentLook& look) {
  if (!line.starts_with('{') || look.cells.size() == most_cells) return;
  const auto json = parse_json(line);
  if (!json.ok()) return;
  const auto record = record_from_json(*json);
  if (!record.ok()) return;
  const bool lacks = record->status != RecordStatus::interrupted;  // RunOptions::only_check
  look.cells.emplace_back(record->cell.id(), lacks ? record->reason : "");
  look.emulated = look.emulated || record->device.emulated;
}

/// Returns why assay could not start there, judging by how it ended.
Error cannot_start(const std::string& environment, const ProgramEnd& end, double patience) {
  std::string told = cause_in(end);
  const bool by_assay = told.starts_with(own_mark);
  if (by_assay) told.erase(0, own_mark.size());
  if (end.timed_out) told = fmt::format("it did not end within {:.0f} s", patience);
  if (told.empty()) told = fmt::format("it ended with {} and said nothing", end.status);
  return {by_assay && end.status == wrong_words ? ErrorKind::usage : ErrorKind::unavailable,
          fmt::format("environment {}: assay cannot measure there: {}", environment, told)};
}

Result<EnvironmentLook> look_at(const CampaignPlan& plan, std::size_t index,
                                const std::filesystem::path& folder,
                                const std::function<bool()>& stop_requested) {
  const PlannedEnvironment& environment = plan.environments[index];
  const LaunchContext context = launch_context(plan, {environment.name, index}, folder);
  const Launch launch = TRY(environment.where->launch(look_arguments(plan, environment), context));
  TRY(environment.where->prepare(context));
  clean_up(launch);  // removes leftovers of an earlier process that was killed
  TRY(write_files(launch));
  EnvironmentLook look;
  look.environment = environment.name;
  const auto begin = std::chrono::steady_clock::now();
  const auto end = run_launch(launch, context,
                              {.timeout_seconds = plan.unit_timeout_seconds,
                               .stop_requested = stop_requested,
                               .line = [&](std::string_view line) { take(line, look); }});
  if (!end.ok()) {
    return Error{end.error().kind,
                 fmt::format("environment {}: {}", environment.name, end.error().message)};
  }
  look.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (end->stopped) return Error{ErrorKind::interrupted, "interrupted"};
  if (end->timed_out || look.cells.empty()) {
    return cannot_start(environment.name, *end, plan.unit_timeout_seconds);
  }
  return look;
}

std::string text_of(const std::pair<std::string, std::string>& cell) {
  return fmt::format("{}: {}", cell.first, cell.second);
}

}  // namespace

Result<std::vector<EnvironmentLook>> look_at_environments(
    const CampaignPlan& plan, const std::filesystem::path& folder,
    const std::function<bool()>& stop_requested) {
  std::vector<EnvironmentLook> looks;
  for (std::size_t i = 0; i < plan.environments.size(); ++i) {
    looks.push_back(TRY(look_at(plan, i, folder, stop_requested)));
  }
  return looks;
}

Result<std::string> compare_looks(const std::vector<EnvironmentLook>& looks) {
  const auto of_kind = [&](bool emulated) {
    return std::find_if(looks.begin(), looks.end(),
                        [&](const EnvironmentLook& look) { return look.emulated == emulated; });
  };
  if (const auto model = of_kind(true), real = of_kind(false);
      model != looks.end() && real != looks.end()) {
    return mixture(model->environment, real->environment);
  }
  std::map<std::string, std::string> who_has;  // keyed by cell
  for (const EnvironmentLook& look : looks) {
    for (const auto& [cell, reason] : look.cells) {
      if (reason.empty()) who_has.emplace(cell, look.environment);
    }
  }
  std::string left_out;
  for (const EnvironmentLook& look : looks) {
    std::vector<std::pair<std::string, std::string>> lacks;
    std::copy_if(look.cells.begin(), look.cells.end(), std::back_inserter(lacks),
                 [](const auto& cell) { return !cell.second.empty(); });
    if (lacks.empty()) continue;
    if (lacks.size() == look.cells.size()) {
      return Error{ErrorKind::unavailable,
                   fmt::format("environment {}: no cell can be measured there: {}",
                               look.environment, text_of(lacks.front()))};
    }
    for (const auto& cell : lacks) {
      const auto other = who_has.find(cell.first);
      if (other == who_has.end()) continue;
      return Error{
          ErrorKind::unavailable,
          fmt::format("environment {}: {}; leave the cell out, as only {} could measure it",
                      look.environment, text_of(cell), other->second)};
    }
    left_out = fmt::format(
        "{} of {} cells cannot be measured in any environment and {} left out: {}", lacks.size(),
        look.cells.size(), lacks.size() == 1 ? "is" : "are", text_of(lacks.front()));
  }
  return left_out;
}

}  // namespace assay
