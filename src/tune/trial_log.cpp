#include "tune/trial_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "core/folder_lock.h"
#include "core/read_file.h"
#include "core/text.h"
#include "core/write_file.h"
#include "judge/campaign/plan.h"
#include "measure/sampling/runner.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* plan_name = "tuning.yaml";
constexpr const char* seconds_note = "seconds";
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
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
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

}  // namespace

Result<TrialLog> TrialLog::open(const fs::path& folder, std::string_view plan,
                                const Json& fingerprint) {
  auto lock = TRY(lock_folder(folder, "assay tune"));
  TRY(check_plan(folder, plan));
  TrialLog log(std::move(lock), TRY(Store::open(folder)));
  log.kept_ = TRY(read_records(folder)).records;
  log.fingerprint_ = TRY(log.store_.append_fingerprint(fingerprint));
  return log;
}

Result<Record> TrialLog::run(std::string_view part, const Cell& cell, const Measure& measure) {
  const std::size_t number = runs_++;
  if (number < kept_.size()) {
    const Record& kept = kept_[number];
    if (!(kept.cell == cell) || note_of(kept, tuning_note) != part) {
      return Error{ErrorKind::usage,
                   fmt::format("{}: run {} is of \"{}\", and the search, of another version of "
                               "assay maybe, asks for \"{}\"; give another folder with --out",
                               store_.folder().string(), number + 1, kept.cell.id(), cell.id())};
    }
    last_seconds_ = std::max(0.0, parse_number(note_of(kept, seconds_note)).value_or(0));
    seconds_ += last_seconds_;
    return kept;
  }
  Record blank;
  blank.run = new_run_id();  // a process of its own, so that proofs have as many runs as pairs
  blank.fingerprint = fingerprint_;
  blank.cell = cell;
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  auto measured = measure(blank);
  if (!measured.ok() && measured.error().kind == ErrorKind::interrupted) return measured.error();
  Record record = blank;
  if (measured.ok()) {
    record = std::move(measured).value();
  } else {
    record.reason = measured.error().message;
  }
  last_seconds_ = std::chrono::duration<double>(Clock::now() - begin).count();
  seconds_ += last_seconds_;
  record.time = utc_now();
  record.notes.emplace_back(tuning_note, part);
  record.notes.emplace_back(seconds_note, fmt::format("{:.3f}", last_seconds_));
  TRY(store_.append(record));
  return record;
}

}  // namespace assay
