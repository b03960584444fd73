// What a cell's record says of ranks that measured it together.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "machine/system/device_facts.h"
#include "measure/benchmarks/benchmark.h"
#include "measure/sampling/sample.h"
#include "measure/store/record.h"
#include "ranks/team/team.h"

namespace assay {

/// "cuda:0 0000:3b:00.0" of every rank, in rank order; empty for a process alone. Error: as
/// Team::exchange.
Result<std::vector<std::string>> devices_of_ranks(Team& team, const DeviceFacts& mine);

/// The work passed if every rank's did; otherwise the first that did not says why. Error: a rank
/// could not verify; as Team::exchange.
Result<Verification> agree_on_verification(Team& team, const Result<Verification>& mine);

/// Each rank's own results; empty for a process alone.
std::vector<RankResult> results_of_ranks(const Team& team, const std::vector<std::string>& devices,
                                         const SampleSet& samples);

/// The spread of the ranks' times, which rank is slowest, and who keeps the others waiting.
std::vector<std::pair<std::string, std::string>> notes_on_ranks(
    const std::vector<RankResult>& ranks);

}  // namespace assay
