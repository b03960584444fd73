#include "judge/compare/operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "core/input_file.h"
#include "core/json.h"
#include "core/read_file.h"
#include "judge/compare/baseline.h"
#include "judge/compare/emulated.h"
#include "results/import/importer.h"
#include "results/store/campaign_reader.h"
#include "results/store/store.h"
#include "results/store/stored_fingerprint.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* records_name = "records.jsonl";

Error not_found(const std::string& operand) {
  return {
      ErrorKind::usage,
      fmt::format("{} is not a store, an environment of a campaign or a file; give a folder that "
                  "assay wrote, FOLDER:RUN, CAMPAIGN/ENVIRONMENT or another program's output",
                  operand)};
}

/// Returns whether a file is from a store: its lines begin with the schema number.
bool holds_records(const fs::path& path) {
  constexpr std::string_view start_of_records = "{\"schema\":";
  return start_of_file(path, start_of_records.size()) == start_of_records;
}

Result<ResultSet> load_store(const fs::path& path, const std::string& run, std::string name,
                             std::vector<Record>* records) {
  const Detail detail = records == nullptr ? Detail::summary : Detail::last_readings;
  StoredRecords stored = TRY(read_records(path, detail));
  if (!run.empty()) {
    std::erase_if(stored.records, [&](const Record& record) { return record.run != run; });
    if (stored.records.empty()) {
      return Error{ErrorKind::usage, fmt::format("{} holds no run {}", path.string(), run)};
    }
  }
  ResultSet set = result_set_of(stored.records, std::move(name));
  set.problems.insert(set.problems.end(), stored.problems.begin(), stored.problems.end());
  const fs::path folder = fs::is_directory(path) ? path : path.parent_path();
  std::set<std::string> used;
  for (const Unit& unit : set.units) used.insert(unit.fingerprint);
  used.erase("");
  for (const auto& [id, fingerprint] : read_stored_fingerprints(folder)) {
    if (used.contains(id)) set.fingerprints.push_back(fingerprint);
  }
  if (const std::size_t missing = used.size() - set.fingerprints.size(); missing > 0) {
    set.problems.push_back(fmt::format(
        "fingerprints.jsonl lacks {} of the {} environments of its runs, so that not all is known "
        "of what differs",
        missing, used.size()));
  }
  if (records != nullptr) *records = std::move(stored.records);
  return set;
}

/// Loads only complete units, each with its pair.
Result<ResultSet> load_environment(const fs::path& campaign, const std::string& environment,
                                   std::string name, std::vector<Record>* records) {
  ResultSet set = TRY(load_store(campaign / environment, "", std::move(name), records));
  const std::vector<CampaignUnit> units = TRY(read_units(campaign));
  std::vector<bool> counts(set.units.size(), false);
  std::map<std::string_view, std::size_t> places;  // each run is one unit
  for (std::size_t i = 0; i < set.units.size(); ++i) places.emplace(set.units[i].run, i);
  for (const CampaignUnit& unit : units) {
    const auto place = places.find(unit.run);
    if (unit.environment != environment || !unit.complete || place == places.end()) continue;
    set.units[place->second].pair = unit.pair;
    counts[place->second] = true;
  }
  for (Series& series : set.series) {
    std::erase_if(series.points, [&](const Point& point) { return !counts[point.unit]; });
  }
  set.paired = true;
  set.pairs_per_draw = read_pairs_per_draw(campaign);
  return set;
}

Result<ResultSet> load_foreign(const std::vector<fs::path>& files, std::string name,
                               std::vector<Record>* kept) {
  std::vector<Record> records;
  std::vector<std::string> problems;
  for (const fs::path& file : files) {
    Imported imported = TRY(import_file(file.string(), ""));
    std::move(imported.records.begin(), imported.records.end(), std::back_inserter(records));
    for (const std::string& warning : imported.warnings) {
      problems.push_back(file.filename().string() + ": " + warning);
    }
  }
  ResultSet set = result_set_of(records, std::move(name));
  set.problems.insert(set.problems.end(), problems.begin(), problems.end());
  if (kept != nullptr) *kept = std::move(records);
  return set;
}

Result<std::vector<fs::path>> files_in(const fs::path& folder) {
  std::vector<fs::path> files = TRY(list_folder(folder));
  std::erase_if(files, [](const fs::path& path) {
    std::error_code ignored;
    return !fs::is_regular_file(path, ignored);
  });
  return files;
}

/// Returns the folder: "campaign/env" and "campaign/env/" are the same one.
fs::path folder_of(const std::string& operand) {
  const fs::path path = fs::path(operand).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

Result<ResultSet> load_result_set(const std::string& operand, std::vector<Record>* records) {
  std::error_code ignored;
  const fs::path path = fs::path(operand).lexically_normal();
  const fs::path folder = folder_of(operand);
  TRY(check_access(path));
  TRY(check_access(folder / records_name));
  if (fs::is_directory(folder, ignored)) {
    if (is_campaign(folder.parent_path())) {
      return load_environment(folder.parent_path(), folder.filename().string(), operand, records);
    }
    if (fs::exists(folder / records_name, ignored)) {
      return load_store(folder, "", operand, records);
    }
    if (is_campaign(folder)) {
      return Error{ErrorKind::usage,
                   fmt::format("{} is a campaign; name one of its environments, {}/ENVIRONMENT",
                               operand, folder.string())};
    }
    const std::vector<fs::path> files = TRY(files_in(folder));
    if (files.empty()) return not_found(operand);
    return load_foreign(files, operand, records);
  }
  if (fs::exists(path, ignored)) {
    if (is_baseline(path)) return read_baseline(path, operand);
    return holds_records(path) ? load_store(path, "", operand, records)
                               : load_foreign({path}, operand, records);
  }
  const std::size_t colon = operand.rfind(':');
  if (colon != std::string::npos && fs::exists(operand.substr(0, colon), ignored)) {
    return load_store(operand.substr(0, colon), operand.substr(colon + 1), operand, records);
  }
  return not_found(operand);
}

Result<Operands> load_operands(const std::string& a, const std::string& b, bool with_records) {
  Operands operands;
  operands.a = TRY(load_result_set(a, with_records ? &operands.records_a : nullptr));
  operands.b = TRY(load_result_set(b, with_records ? &operands.records_b : nullptr));
  const fs::path folder = folder_of(a).parent_path();
  const fs::path again = folder / control_of(folder_of(a).filename().string());
  const bool same_campaign = folder_of(b).parent_path() == folder && is_campaign(folder);
  // Pair numbers of two campaigns are unrelated.
  if (!same_campaign) operands.a.paired = operands.b.paired = false;
  if (same_campaign) operands.terms = TRY(read_terms(folder));
  if (same_campaign && fs::exists(again)) {
    operands.control = TRY(load_result_set(again.string()));
  }
  TRY(refuse_mixture({&operands.a, &operands.b}));
  if (operands.control) TRY(refuse_mixture({&operands.a, &*operands.control}));
  return operands;
}

Result<std::vector<std::pair<std::string, std::string>>> pairs_of_campaign(
    const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& [a, b] : TRY(read_contrasts(folder))) {
    pairs.emplace_back((fs::path(folder) / a).string(), (fs::path(folder) / b).string());
  }
  return pairs;
}

}  // namespace assay
