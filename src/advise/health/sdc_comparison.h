// Compares what units give with other ranks and with a reference, before they are repeated.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "advise/health/sdc_reference.h"
#include "advise/health/unit_under_test.h"
#include "ranks/team/team.h"

namespace assay::health {

/// What a comparison with other devices or with a reference found.
struct SdcComparison {
  std::vector<SdcDifference> differences;  ///< results that are wrong
  /// What only other devices could tell; empty: nothing.
  std::string unsettled;
};

/// Compares devices of a kind (kind_of()) that did the same work, each alone; the majority is
/// right. All ranks call it together with the same units, and rank 0 gets the differences of all.
/// Every rank leaves out what is scratch memory on most, and takes rank 0's times of a repetition.
/// Error: the team's; failed if the ranks' units differ.
Result<SdcComparison> compare_with_ranks(std::span<UnderTest> units, const std::string& kind,
                                         Team& team);

/// Compares with a reference. A unit whose operations or scratch memory are not the reference's
/// gets a note that says so, another choice by measuring is unsettled, and a unit that the
/// reference does not know is passed over. `difference_here` returns a difference that names the
/// unit and this device.
SdcComparison compare_with_reference(
    std::span<UnderTest> units, const SdcReference& reference,
    const std::function<SdcDifference(const UnderTest&)>& difference_here);

}  // namespace assay::health
