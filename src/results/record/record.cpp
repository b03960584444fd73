#include "results/record/record.h"

#include <algorithm>

namespace assay {

std::optional<double> taken_from_cpus(const Record& record) {
  const bool alone = record.value && !record.device.emulated && record.ranks.empty();
  if (!alone || !record.device.is_host_cpu() || !record.telemetry) return std::nullopt;
  return taken_by_others(record.telemetry->summary.host);
}

bool is_trial(const Record& record) {
  return std::any_of(record.notes.begin(), record.notes.end(), [](const auto& note) {
    return note.first == tuning_note && note.second == search_part;
  });
}

const std::string* find_note(const Record& record, std::string_view name) {
  const auto at = std::ranges::find(
      record.notes, name, [](const auto& note) -> std::string_view { return note.first; });
  return at == record.notes.end() ? nullptr : &at->second;
}

std::string_view name_of(RecordStatus status) {
  switch (status) {
    case RecordStatus::passed:
      return "passed";
    case RecordStatus::failed:
      return "failed";
    case RecordStatus::error:
      return "error";
    case RecordStatus::unsupported:
      return "unsupported";
    case RecordStatus::interrupted:
      break;
  }
  return "interrupted";
}

}  // namespace assay
