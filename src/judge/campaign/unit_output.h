// What a unit prints, line by line: its environment, then its records; other lines are ignored.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "judge/campaign/cell_turns.h"
#include "judge/campaign/unit_values.h"
#include "results/store/store.h"

namespace assay {

/// Nothing in the lines is trusted. Lines that do not begin with '{', such as a banner or a log,
/// are ignored.
class UnitOutput {
 public:
  explicit UnitOutput(Store& store) : store_(store) {}

  /// Stores what the line holds. After a first problem, or when the store refuses something,
  /// nothing more is stored.
  void take(std::string_view line);

  const std::string& run() const { return run_; }
  std::size_t cells() const { return cells_.size(); }
  std::size_t passed() const { return passed_; }
  const UnitValues& values() const { return values_; }
  /// What each cell took, in the order in which they came.
  const std::vector<CellTime>& cell_times() const { return cell_times_; }
  /// The most that others took of the CPUs' time during one of its records; empty: unknown.
  std::optional<double> taken_share() const { return taken_share_; }
  /// The first cell that did not pass and what it said: "gemm shape=...: out of memory"; empty: all
  /// did.
  const std::string& first_failure() const { return first_failure_; }
  /// Why the output cannot be used; empty if it can.
  const std::string& problem() const { return problem_; }
  /// What the store said: its failures are not the environment's.
  const Status& stored() const { return stored_; }

 private:
  Status take_object(std::string_view line);
  Status take_record(Record record);

  Store& store_;
  std::string run_, problem_, first_failure_;
  Status stored_;
  std::map<std::string, std::string> fingerprints_;  // the unit's id of each, and the store's
  std::set<std::string> cells_;
  std::size_t passed_ = 0, lines_ = 0;
  UnitValues values_;
  std::vector<CellTime> cell_times_;
  std::chrono::steady_clock::time_point last_came_;  // when the environment or the last cell came
  std::optional<double> taken_share_;
};

}  // namespace assay
