// Reads what a unit prints, line by line: its environment, then its records; other lines are
// ignored.
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

/// The lines are not trusted. Lines that do not begin with '{', such as a banner or a log,
/// are ignored.
class UnitOutput {
 public:
  explicit UnitOutput(Store& store) : store_(store) {}

  /// Stores the fingerprint or the record that the line holds. After a first problem, or an error
  /// of the store, nothing more is stored.
  void take(std::string_view line);

  const std::string& run() const { return run_; }
  std::size_t cells() const { return cells_.size(); }
  std::size_t passed() const { return passed_; }
  const UnitValues& values() const { return values_; }
  /// Returns the time of each cell, in the order of arrival.
  const std::vector<CellTime>& cell_times() const { return cell_times_; }
  /// Returns the largest share of CPU time that other programs took during a record; empty:
  /// unknown.
  std::optional<double> taken_share() const { return taken_share_; }
  /// Returns the first cell that ended in an error or was wrong, and its message: "gemm shape=...:
  /// out of memory". Empty if there is none; unsupported and interrupted cells do not count.
  const std::string& first_failure() const { return first_failure_; }
  /// Returns why the output cannot be used; empty if it can.
  const std::string& problem() const { return problem_; }
  /// Returns the store's status; the environment is not to blame for its errors.
  const Status& stored() const { return stored_; }

 private:
  Status take_object(std::string_view line);
  Status take_record(Record record);

  Store& store_;
  std::string run_, problem_, first_failure_;
  Status stored_;
  std::map<std::string, std::string> fingerprints_;  // id in the unit's output -> id in the store
  std::set<std::string> cells_;
  std::size_t passed_ = 0, lines_ = 0;
  UnitValues values_;
  std::vector<CellTime> cell_times_;
  std::chrono::steady_clock::time_point last_came_;  // time of the last arrival
  std::optional<double> taken_share_;
};

}  // namespace assay
