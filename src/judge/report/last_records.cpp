#include "judge/report/last_records.h"

#include <fmt/format.h>

#include <unordered_map>

#include "judge/report/cell_values.h"

namespace assay::report {

std::map<std::string, std::vector<LastRecord>> last_records(
    const std::vector<Environment>& environments) {
  std::map<std::string, std::vector<LastRecord>> last;
  for (std::size_t i = 0; i < environments.size(); ++i) {
    // Places of the environment's cells in their groups.
    std::unordered_map<std::string, std::size_t> places;
    for (const Record& record : environments[i].records) {
      if (record.status != RecordStatus::passed || is_trial(record)) continue;
      std::vector<LastRecord>& group = last[std::string(record.cell.benchmark())];
      const auto [place, fresh] = places.emplace(record.cell.id(), group.size());
      if (fresh) group.emplace_back();
      group[place->second] = {i, &record};
    }
  }
  return last;
}

std::vector<std::string> labels_of(const std::vector<LastRecord>& records) {
  std::vector<const Axes*> cells;
  for (const LastRecord& one : records) cells.push_back(&one.record->cell.values());
  const std::vector<std::string> telling = telling_axes(cells);
  std::vector<std::string> labels;
  for (const Axes* cell : cells) {
    std::string& label = labels.emplace_back();
    for (const std::string& axis : telling) {
      const std::string_view value = value_of(*cell, axis);
      if (!value.empty()) label += fmt::format("{}{}={}", label.empty() ? "" : " ", axis, value);
    }
  }
  return labels;
}

}  // namespace assay::report
