#include "judge/compare/admissible_records.h"

#include <fmt/format.h>

#include <optional>
#include <set>

#include "core/json.h"
#include "judge/compare/operands.h"
#include "results/store/store.h"

namespace assay {
namespace {

/// Why the record may not be used.
std::optional<std::string> refusal_of(const Record& record) {
  if (const auto fault = fault_of(record)) return *fault;
  if (record.status != RecordStatus::passed) {
    return fmt::format("{}: {}", name_of(record.status), record.reason);
  }
  return std::nullopt;
}

}  // namespace

Result<Evidence> load_evidence(const std::string& operand) {
  std::vector<Record> records;
  const ResultSet set = TRY(load_result_set(operand, &records));
  if (records.empty() && !set.units.empty()) {
    return Error{ErrorKind::usage, operand + " is a baseline; give the results of runs"};
  }
  std::set<std::string> complete;
  for (const Series& series : set.series) {
    for (const Point& point : series.points) complete.insert(set.units[point.unit].run);
  }
  Evidence evidence;
  // The set's first problems come from records, whose reasons go into `left_out`.
  const std::size_t of_records = result_set_of(records, "").problems.size();
  for (std::size_t i = of_records; i < set.problems.size(); ++i) {
    evidence.problems.push_back(set.problems[i]);
  }
  std::set<std::string> used;
  for (Record& record : records) {
    auto refusal = refusal_of(record);
    if (!refusal && set.paired && !complete.contains(record.run)) {
      refusal = "its campaign unit is not complete";
    }
    if (refusal) {
      evidence.left_out.push_back({record.run, record.cell.id(), "", std::move(*refusal)});
      continue;
    }
    used.insert(record.fingerprint);
    evidence.records.push_back(std::move(record));
  }
  for (const Json& fingerprint : set.fingerprints) {
    std::string id = fingerprint_id(fingerprint);
    if (used.contains(id)) evidence.fingerprints.emplace(std::move(id), fingerprint);
  }
  return evidence;
}

}  // namespace assay
