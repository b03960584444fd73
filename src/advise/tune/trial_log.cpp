#include "advise/tune/trial_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "core/folder_lock.h"
#include "core/input_file.h"
#include "core/json.h"
#include "core/read_file.h"
#include "core/text.h"
#include "core/write_file.h"
#include "judge/campaign/plan.h"
#include "measure/sampling/runner.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* plan_name = "tuning.yaml";
constexpr const char *setting_note = "setting", *seconds_note = "seconds";
constexpr std::size_t most_kept_plan_bytes = std::size_t{16} << 20;

Status check_plan(const fs::path& folder, std::string_view plan) {
  const fs::path file = folder / plan_name;
  std::error_code error;
  if (fs::exists(file, error)) {
    const std::string before = TRY(read_operand(file.string(), most_kept_plan_bytes));
    const std::string difference = plan_difference(plan_name, before, plan);
    if (difference.empty()) return {};
    return Error{
        ErrorKind::usage,
        fmt::format("{} was begun with another plan: {}; restore the plan, or give another "
                    "folder with --out",
                    folder.string(), difference)};
  }
  for (const fs::path& entry : TRY(list_folder(folder))) {
    const std::string name = entry.filename().string();
    if (name == folder_lock_name || is_unfinished(name, plan_name)) continue;
    return Error{ErrorKind::usage, fmt::format("{} holds {} and is not a tuning; give an empty or "
                                               "new folder with --out",
                                               folder.string(), name)};
  }
  return write_file(file, plan);
}

std::string_view note_of(const Record& record, std::string_view name) {
  const auto at = std::find_if(record.notes.begin(), record.notes.end(),
                               [&](const auto& note) { return note.first == name; });
  return at == record.notes.end() ? std::string_view() : at->second;
}

/// The complete runs, each with its records.
std::vector<std::vector<Record>> whole_runs(std::vector<Record> records) {
  std::vector<std::vector<Record>> runs;
  std::vector<Record> run;
  for (Record& record : records) {
    // that run was killed
    if (!run.empty() && run.back().run != record.run) run.clear();
    const bool is_last = !note_of(record, seconds_note).empty();
    run.push_back(std::move(record));
    if (is_last) runs.push_back(std::exchange(run, {}));
  }
  return runs;
}

}  // namespace

Result<TrialLog> TrialLog::open(const fs::path& folder, std::string_view plan,
                                const Json& fingerprint) {
  auto lock = TRY(lock_folder(folder, "assay tune"));
  TRY(check_plan(folder, plan));
  TrialLog log(std::move(lock), TRY(Store::open(folder)));
  StoredRecords stored = TRY(read_records(folder));
  if (!stored.problems.empty()) {
    return Error{ErrorKind::usage,
                 fmt::format("{} is damaged: {}; its tuning cannot go on, give another folder with "
                             "--out",
                             folder.string(), stored.problems.front())};
  }
  log.kept_ = whole_runs(std::move(stored.records));
  log.fingerprint_ = TRY(log.store_.append_fingerprint(fingerprint));
  return log;
}

Result<std::vector<Record>> TrialLog::run(std::string_view part, std::string_view setting,
                                          const Cell& cell, const Measure& measure) {
  const std::size_t number = runs_++;
  if (number < kept_.size()) {
    const std::vector<Record>& kept = kept_[number];
    const Record& last = kept.back();
    if (note_of(last, setting_note) != setting || note_of(last, tuning_note) != part) {
      return Error{
          ErrorKind::usage,
          fmt::format(
              "{}: run {} is of the {}, \"{}\", and the tuning, of another version of assay "
              "maybe, asks for the {}, \"{}\"; give another folder with --out",
              store_.folder().string(), number + 1, note_of(last, tuning_note),
              note_of(last, setting_note), part, setting)};
    }
    last_seconds_ = std::max(0.0, parse_number(note_of(last, seconds_note)).value_or(0));
    seconds_ += last_seconds_;
    return kept;
  }
  Record blank;
  blank.run = new_run_id();  // each process counts as a run, so that a proof has as many runs as
                             // pairs
  blank.fingerprint = fingerprint_;
  blank.cell = cell;
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  auto measured = measure(blank);
  if (!measured.ok() && measured.error().kind == ErrorKind::interrupted) return measured.error();
  std::vector<Record> records;
  if (measured.ok() && !measured->empty()) {
    records = *std::move(measured);
  } else {
    records.push_back(blank);
    records.back().reason = measured.ok() ? "nothing was measured" : measured.error().message;
  }
  // Rounded as it is stored, so that a resumed tuning sees the same value.
  const std::string taken =
      fmt::format("{:.3f}", std::chrono::duration<double>(Clock::now() - begin).count());
  last_seconds_ = *parse_number(taken);
  seconds_ += last_seconds_;
  for (Record& record : records) {
    record.run = blank.run;
    record.fingerprint = blank.fingerprint;
    if (record.time.empty()) record.time = utc_now();
    record.notes.emplace_back(tuning_note, part);
    record.notes.emplace_back(setting_note, setting);
  }
  records.back().notes.emplace_back(seconds_note, taken);
  TRY(store_.append(records));
  return records;
}

}  // namespace assay
