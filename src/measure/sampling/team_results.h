// The parts of a cell's record that are about the ranks that measured it together.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "measure/grid/benchmark.h"
#include "ranks/team/team.h"
#include "results/record/device_facts.h"
#include "results/record/record.h"
#include "results/record/sample.h"

namespace assay {

/// The device of every rank, in rank order, as in "cuda:0 0000:3b:00.0"; empty for a single
/// process. Error: as from Team::exchange().
Result<std::vector<std::string>> devices_of_ranks(Team& team, const DeviceFacts& mine);

/// Combines the verifications of all ranks: it passes if it passed on every rank, otherwise it has
/// the reason of the first rank that failed. Its error is the largest of all ranks. Error: as
/// agree() (ranks/team/agreement.h) if a rank could not verify; as from Team::exchange().
Result<Verification> agree_on_verification(Team& team, const Result<Verification>& mine);

/// Returns whether verification has passed on every rank so far, for a case whose further checks
/// need all ranks. Error: as agree_on_verification().
Result<bool> passed_on_all(Team& team, const Result<Verification>& mine);

/// The results of each rank; empty for a single process. `devices` is what devices_of_ranks()
/// returned.
std::vector<RankResult> results_of_ranks(const Team& team, const std::vector<std::string>& devices,
                                         const SampleSet& samples);

/// Names and texts of notes for the record: "rank_seconds" (least, mean and most), "slowest_rank",
/// and "late_rank" if the others wait for a straggler. Empty if no rank has a time.
std::vector<std::pair<std::string, std::string>> notes_on_ranks(
    const std::vector<RankResult>& ranks);

}  // namespace assay
