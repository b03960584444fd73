// What a cell's record says about the ranks that measured it together.
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

/// "cuda:0 0000:3b:00.0" for every rank, in rank order; empty for a single process. Error: as from
/// Team::exchange().
Result<std::vector<std::string>> devices_of_ranks(Team& team, const DeviceFacts& mine);

/// Passes if it passed on every rank; otherwise gives the reason of the first rank that failed.
/// Error: a rank could not verify; as from Team::exchange().
Result<Verification> agree_on_verification(Team& team, const Result<Verification>& mine);

/// Whether it passed on every rank so far, for a case that does more with all of them only then.
/// Error: as agree_on_verification().
Result<bool> passed_on_all(Team& team, const Result<Verification>& mine);

/// Each rank's own results; empty for a single process.
std::vector<RankResult> results_of_ranks(const Team& team, const std::vector<std::string>& devices,
                                         const SampleSet& samples);

/// The spread of the ranks' times, the slowest rank, and the rank that the others wait for.
std::vector<std::pair<std::string, std::string>> notes_on_ranks(
    const std::vector<RankResult>& ranks);

}  // namespace assay
