// Judges what ranks say of the same work: which of several devices computed wrongly. Pure
// functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "advise/health/sdc.h"

namespace assay::health {

/// What a rank says of itself after the calibration.
struct RankUnits {
  std::string name;  ///< "rank 1 on node7"
  std::string kind;  ///< kind_of() its device: only devices of a kind are compared
  std::vector<SdcUnit> units;
  std::vector<double> run_seconds;  ///< of one repetition of each unit
};

/// What comparing one unit between ranks found.
struct RankJudgement {
  std::vector<SdcDifference> differences;  ///< one for each rank that is wrong, or of rank -1
  /// Why nothing can be said although ranks differ; empty: it can.
  std::string unsettled;
  std::vector<std::vector<std::size_t>> compared;  ///< ranks that were compared with each other
};

/// Judges one unit, which all ranks have under the same index. Devices of a kind that did the same
/// are compared. The majority is right; without one, a difference has rank -1 and names all. A rank
/// whose own check fails is wrong if more ranks of its kind pass. Where a library computes, ranks
/// that repeat their own bits may differ without a fault, because their libraries may use other
/// algorithms: that is unsettled.
RankJudgement judge_ranks(std::span<const RankUnits> ranks, std::size_t unit);

/// Sets the number and name of the first operation at which two trails (SdcUnit::trail) differ.
void name_first_operation(SdcDifference& difference, std::span<const std::uint64_t> trail,
                          std::span<const std::uint64_t> expected,
                          std::span<const std::string> operations);

}  // namespace assay::health
