#include "judge/campaign/campaign_writer.h"

#include <fmt/format.h>

#include <system_error>
#include <unordered_map>

#include "core/folder_lock.h"
#include "core/input_file.h"
#include "core/json.h"
#include "core/read_file.h"
#include "core/write_file.h"
#include "results/store/store.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_file_bytes = std::size_t{16} << 20;

/// Returns what the folder stores besides the plan: the arguments that measure its suites, because
/// a suite file may change although the plan does not, and how the order of units is drawn. Older
/// versions wrote only the arguments (`words_alone`).
std::string measure_text(const CampaignPlan& plan, bool words_alone) {
  const Json words = plan.measure;
  const Json all = words_alone ? words : Json({{"draw", "pair"}, {"measure", words}});
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status check_same(const fs::path& folder, const CampaignPlan& plan) {
  const std::string before = TRY(read_operand(folder / campaign_plan_name, most_file_bytes));
  const std::string advice = "restore the plan, or give another folder with --out";
  if (const std::string difference = plan_difference(campaign_plan_name, before, plan.text);
      !difference.empty()) {
    return Error{ErrorKind::usage, fmt::format("{} was begun with another plan: {}; {}",
                                               folder.string(), difference, advice)};
  }
  const std::string measured = TRY(read_operand(folder / campaign_measure_name, most_file_bytes));
  if (measured != measure_text(plan, false) && measured != measure_text(plan, true)) {
    return Error{ErrorKind::usage,
                 fmt::format("{} was begun with other cells: a suite file has changed since; {}",
                             folder.string(), advice)};
  }
  return {};
}

/// Writes the plan last: if it exists, so does everything else.
Status write_plan(const fs::path& folder, const CampaignPlan& plan) {
  TRY(write_file(folder / campaign_measure_name, measure_text(plan, false)));
  return write_file(folder / campaign_plan_name, plan.text);
}

Status begin(const fs::path& folder, const CampaignPlan& plan) {
  const auto is_own = [](const std::string& name) {
    return name == folder_lock_name || name == campaign_measure_name ||
           is_unfinished(name, campaign_measure_name) || is_unfinished(name, campaign_plan_name);
  };
  for (const fs::path& entry : TRY(list_folder(folder))) {
    if (is_own(entry.filename().string())) continue;
    return Error{ErrorKind::usage,
                 fmt::format("{} holds {} and is not a campaign; give an empty or new folder",
                             folder.string(), entry.filename().string())};
  }
  return write_plan(folder, plan);
}

/// Returns whether any unit was measured or tried.
bool has_units(const fs::path& folder) {
  std::error_code error;
  const auto bytes = fs::file_size(folder / campaign_units_name, error);
  return !error && bytes > 0;
}

}  // namespace

Result<CampaignFolder> CampaignFolder::open(const fs::path& path, const CampaignPlan& plan) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  const fs::path& folder = error ? path : absolute;
  auto lock = TRY(lock_folder(folder, "assay campaign"));
  if (fs::exists(folder / campaign_plan_name, error)) {
    TRY(has_units(folder) ? check_same(folder, plan) : write_plan(folder, plan));
  } else {
    TRY(begin(folder, plan));
  }
  return CampaignFolder(folder, std::move(lock), TRY(LineFile::open(folder / campaign_units_name)));
}

Result<CampaignHistory> CampaignFolder::history() const {
  CampaignHistory history;
  history.lines = TRY(read_unit_lines(path_));
  std::unordered_map<std::string, std::unordered_map<std::string, std::size_t>> pairs;
  for (const UnitLine& line : history.lines) {
    if (line.unit.complete) pairs[line.unit.environment].emplace(line.unit.run, line.unit.pair);
  }
  for (const auto& [environment, runs] : pairs) {
    // A name from the file must not be a path out of the folder.
    if (environment.find('/') != std::string::npos) continue;
    const StoredRecords stored = TRY(read_records(path_ / environment));
    for (const Record& record : stored.records) {
      const auto run = runs.find(record.run);
      if (run != runs.end()) add_values(record, history.values[{environment, run->second}]);
    }
  }
  return history;
}

}  // namespace assay
