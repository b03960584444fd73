#include "judge/campaign/unit_output.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "core/json_text.h"
#include "machine/telemetry/summary.h"
#include "results/store/json_reader.h"
#include "results/store/record_json.h"

namespace assay {

void UnitOutput::take(std::string_view line) {
  ++lines_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!problem_.empty() || !stored_.ok() || !line.starts_with('{')) return;
  if (const Status taken = take_object(line); !taken.ok()) {
    problem_ = fmt::format("line {} of its output: {}", lines_, taken.error().message);
  }
}

Status UnitOutput::take_object(std::string_view line) {
  const Json json = TRY(parse_json(line));
  if (json.contains("fingerprint") && json["fingerprint"].is_object()) {
    last_came_ = std::chrono::steady_clock::now();
    const JsonReader reader = TRY(JsonReader::of(json));
    const std::string id = TRY(reader.text("id"));
    auto stored = store_.append_fingerprint(json["fingerprint"]);
    if (stored.ok()) {
      fingerprints_[id] = *std::move(stored);
    } else {
      stored_ = stored.error();
    }
    return {};
  }
  return take_record(TRY(record_from_json(json)));
}

Status UnitOutput::take_record(Record record) {
  if (run_.empty()) run_ = record.run;
  if (record.run != run_ || run_.empty()) {
    return Error{
        ErrorKind::usage,
        fmt::format("its run is \"{}\", that of earlier records \"{}\"; a unit is one process",
                    record.run, run_)};
  }
  const auto known = fingerprints_.find(record.fingerprint);
  if (known == fingerprints_.end()) {
    return Error{ErrorKind::usage, "a record came without its environment"};
  }
  record.fingerprint = known->second;
  cells_.insert(record.cell.id());
  const auto now = std::chrono::steady_clock::now();
  cell_times_.push_back({std::chrono::duration<double>(now - last_came_).count(),
                         record.status == RecordStatus::interrupted});
  last_came_ = now;
  if (record.status == RecordStatus::passed) ++passed_;
  const bool wrong = record.status == RecordStatus::error || record.status == RecordStatus::failed;
  if (wrong && first_failure_.empty()) {
    first_failure_ = fmt::format("{}: {}", record.cell.id(), record.reason);
  }
  if (const auto taken = taken_from_cpus(record)) {
    taken_share_ = std::max(taken_share_.value_or(0), *taken);
  }
  add_values(record, values_);
  stored_ = store_.append(record);
  return {};
}

}  // namespace assay
