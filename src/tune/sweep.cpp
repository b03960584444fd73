#include "tune/sweep.h"

#include <fmt/format.h>

#include <cmath>

#include "core/json.h"
#include "core/program.h"
#include "measure/store/record.h"

namespace assay {
namespace {

/// The headline value of a record as a speed; more is better.
std::optional<double> speed_of(const Record& record) {
  if (!record.value || !(record.value->median > 0)) return std::nullopt;
  const bool is_time = record.value->quantity == Quantity::latency;
  return is_time ? 1 / record.value->median : record.value->median;
}

}  // namespace

Trial try_settings(const std::vector<std::string>& words, const Settings& settings,
                   const std::function<bool()>& stop_requested) {
  Trial trial;
  trial.settings = settings;
  ProgramStart start;
  start.words = words;
  for (const Setting& setting : settings) {
    start.variables.emplace_back(setting.variable, setting.value);
  }
  start.stop_requested = stop_requested;
  start.line = [&](std::string_view line) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("status")) return;
    const auto record = record_from_json(json);
    if (!record.ok()) {
      trial.problem = record.error().message;
      return;
    }
    if (record->device.emulated) {
      trial.problem = "the device is emulated: times of a model are useless for tuning";
    } else if (const auto speed = speed_of(*record)) {
      trial.speeds[record->cell.id()] = *speed;
    } else if (trial.problem.empty()) {
      trial.problem = fmt::format("{}: {}", record->cell.id(), record->reason);
    }
  };
  const auto end = run_program(start);
  if (!end.ok()) {
    trial.problem = end.error().message;
  } else if (trial.speeds.empty() && trial.problem.empty()) {
    trial.problem =
        fmt::format("it exited with status {}: {}", end->status, last_line(end->errors_tail));
  }
  return trial;
}

std::optional<double> gain_of(const Trial& trial, const Trial& first) {
  double logs = 0;
  for (const auto& [cell, speed] : first.speeds) {
    const auto at = trial.speeds.find(cell);
    if (at == trial.speeds.end()) return std::nullopt;
    logs += std::log(at->second / speed);
  }
  if (first.speeds.empty()) return std::nullopt;
  return std::exp(logs / static_cast<double>(first.speeds.size()));
}

std::size_t best_of(const std::vector<Trial>& trials) {
  std::size_t best = 0;
  double most = 1;
  for (std::size_t i = 1; i < trials.size(); ++i) {
    const double gain = gain_of(trials[i], trials[0]).value_or(0);
    if (gain > most) {
      best = i;
      most = gain;
    }
  }
  return best;
}

}  // namespace assay
