// Judges all cells of two environments together, with one rule for a cell's verdict, the headline
// and the geometric mean. docs/method.md, "Many cells", shows why it is right and how often it
// errs. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "judge/compare/verdict.h"
#include "statistics/paired_series.h"

namespace assay {

/// One metric of one cell, measured in pairs.
struct PairedMember {
  PairedSeries differences;             ///< logarithms of B's times minus those of A's
  std::optional<PairedSeries> control;  ///< of A' minus A; empty: the plan has no control
  std::size_t cell = 0;                 ///< metrics of one cell have the same number
};

/// One metric of one cell, as logarithms of the times of unpaired units.
struct UnpairedMember {
  std::vector<double> a, b;
};

/// What was found about one member.
struct JudgedMember {
  PairedEffect effect;
  std::optional<PairedEffect> control;  ///< A' against A; empty without a control
  Control control_state = Control::off;
  FamilyTest test;
  Ruling ruling;
};

/// What was found about all members together.
struct JudgedFamily {
  std::vector<JudgedMember> members;  ///< in the given order
  /// The mean over cells of the pairs that every member has; each cell counts once. Empty if there
  /// is a single member, unpaired members, or no such pair.
  std::optional<JudgedMember> mean;
};

/// `pairs_per_draw` is the number of consecutive pairs whose order one random draw decided. Paired
/// members are tested by flips of signs of whole draws, unpaired ones by Welch's t and Holm's
/// correction.
JudgedFamily judge_family(std::span<const PairedMember> members, std::size_t pairs_per_draw,
                          const VerdictRule& rule);
JudgedFamily judge_family(std::span<const UnpairedMember> members, const VerdictRule& rule);

struct CellRuling {
  Ruling ruling;
  double mean = 0;  ///< mean of logarithms of times, B against A
};
/// Returns the ruling over all cells. `cells` may hold more rulings than the family, for cells that
/// could not be compared at all. "B equals A on every cell" is an intersection-union test: each
/// cell is tested at alpha, without correction. The tests for a difference have been corrected for
/// all cells.
Ruling judge_whole(std::span<const CellRuling> cells, const std::optional<JudgedMember>& mean,
                   const VerdictRule& rule);

}  // namespace assay
