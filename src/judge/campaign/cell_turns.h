// Chooses the cells that a unit measures last. If a unit's time is too short for all of its cells,
// cells that take more than their share would starve the others. So these cells come last, and take
// turns at being the first among them.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

namespace assay {

/// The time that one cell of a unit took.
struct CellTime {
  double seconds = 0;
  bool starved = false;  ///< the unit's time had run out before it began
};

/// All environments measure the cells of a pair in the same order, so a unit's times affect only
/// later pairs.
class CellTurns {
 public:
  /// `unit_seconds` is the time limit of a unit; if empty there is no limit, and no cell comes
  /// last.
  explicit CellTurns(std::optional<double> unit_seconds) : unit_seconds_(unit_seconds) {}

  /// Returns the cells that come last in `pair`, in their order: numbers in the plan's list, from
  /// 0.
  const std::vector<std::size_t>& last_in(std::size_t pair);
  /// Records the times of a unit of `pair` in the order in which it measured its cells: by number,
  /// but those that last_in() returned last.
  void learn(std::size_t pair, const std::vector<CellTime>& measured);

 private:
  const std::optional<double> unit_seconds_;
  std::map<std::size_t, double> seconds_;  // keyed by cell, as last measured
  std::size_t cells_ = 0;
  bool too_short_ = false;                                // a cell was starved
  std::map<std::size_t, std::vector<std::size_t>> last_;  // keyed by pair, once it has begun
};

}  // namespace assay
