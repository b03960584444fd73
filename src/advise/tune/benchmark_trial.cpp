#include "advise/tune/benchmark_trial.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "core/json.h"
#include "core/program.h"
#include "core/units.h"
#include "results/store/record_json.h"

namespace assay {
namespace {

/// The main value of a record as a speed, where more is better.
std::optional<double> speed_of(const Record& record) {
  if (record.status != RecordStatus::passed || !record.value || !(record.value->median > 0)) {
    return std::nullopt;
  }
  const bool is_time = record.value->quantity == Quantity::latency;
  return is_time ? 1 / record.value->median : record.value->median;
}

/// The reason for a failure: "copy size=1MiB: wrong result", without the cell if the record is not
/// about one.
std::string problem_of(const Record& record) {
  const Cell cell = without_axis(record.cell, setting_axis);
  const std::string reason = record.reason.empty() ? "it has no value" : record.reason;
  return cell.values().empty() ? reason : fmt::format("{}: {}", cell.id(), reason);
}

}  // namespace

Cell with_setting(const Cell& cell, const Settings& settings) {
  auto values = cell.values();
  values.emplace_back(setting_axis, text_of(settings));
  return {cell.benchmark(), std::move(values)};
}

Result<std::vector<Record>> run_benchmark(const std::vector<std::string>& words,
                                          const Settings& settings, double most_seconds,
                                          const std::function<bool()>& stop_requested) {
  std::vector<Record> records;
  Status damage;
  ProgramStart start;
  start.words = words;
  start.variables = variables_of(settings);
  if (std::isfinite(most_seconds)) start.timeout_seconds = most_seconds;
  start.stop_requested = stop_requested;
  start.line = [&](std::string_view line) {
    const Json json = try_parse_json(line);
    if (!json.is_object() || !json.contains("status")) return;
    auto record = record_from_json(json);
    if (!record.ok()) {
      damage = record.error();
      return;
    }
    record->cell = with_setting(record->cell, settings);
    records.push_back(*std::move(record));
  };
  const ProgramEnd end = TRY(run_program(start));
  if (end.stopped) return Error{ErrorKind::interrupted, "stopped"};
  TRY(std::move(damage));
  if (end.timed_out) {
    return Error{ErrorKind::failed,
                 fmt::format("ended after {}, five times what the unchanged run took and 2 s",
                             format_seconds(most_seconds))};
  }
  constexpr int by_signal = 128;  // a run killed by a signal did not report all of its cells
  if (!records.empty() && end.status < by_signal) return records;
  return Error{ErrorKind::failed,
               fmt::format("it exited with status {}: {}", end.status, last_line(end.errors_tail))};
}

std::map<std::string, double> speeds_of(const std::vector<Record>& records) {
  std::map<std::string, double> speeds;
  for (const Record& record : records) {
    if (const auto speed = speed_of(record))
      speeds[without_axis(record.cell, setting_axis).id()] = *speed;
  }
  return speeds;
}

TrialScore BenchmarkScore::operator()(const std::vector<Record>& records) {
  for (const Record& record : records) {
    if (!record.device.emulated) continue;
    return {std::nullopt, "the device is emulated: times of a model are useless for tuning"};
  }
  for (const Record& record : records) {
    const bool may_be_missing = record.status == RecordStatus::unsupported;
    if (!speed_of(record) && !may_be_missing) return {std::nullopt, problem_of(record)};
  }
  const auto speeds = speeds_of(records);
  if (speeds.empty()) return {std::nullopt, problem_of(records.front())};
  if (first_.empty()) first_ = speeds;
  double logarithms = 0;
  for (const auto& [cell, speed] : first_) {
    const auto at = speeds.find(cell);
    if (at == speeds.end()) return {std::nullopt, fmt::format("{} was not measured", cell)};
    logarithms += std::log(at->second);
  }
  return {logarithms / static_cast<double>(first_.size()), ""};
}

}  // namespace assay
