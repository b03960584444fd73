// Which cells of a unit come last. Where the time of a unit is too short for all of its cells,
// those that take more than their share would starve the others: they come after them, and take
// turns at being the first of the last.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

namespace assay {

/// What a cell of a unit took.
struct CellTime {
  double seconds = 0;
  bool starved = false;  ///< the unit's time was spent before it
};

/// All environments measure the cells of a pair in the same order, so what a unit teaches counts
/// from the next pair on.
class CellTurns {
 public:
  /// `unit_seconds`: the time of a unit; empty: all that it needs, so that no cell comes last.
  explicit CellTurns(std::optional<double> unit_seconds) : unit_seconds_(unit_seconds) {}

  /// The cells that come last in `pair`, in their order: numbers in the plan's list, from 0.
  const std::vector<std::size_t>& last_in(std::size_t pair);
  /// A unit of `pair` has measured, in the order that last_in() gave it.
  void learn(std::size_t pair, const std::vector<CellTime>& measured);

 private:
  const std::optional<double> unit_seconds_;
  std::map<std::size_t, double> seconds_;  // by cell, as last measured
  std::size_t cells_ = 0;
  bool too_short_ = false;                                // a cell was starved
  std::map<std::size_t, std::vector<std::size_t>> last_;  // by pair, once it has begun
};

}  // namespace assay
