// The output of `assay tune serve`: its trials, and whether the best one is better.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal.h"
#include "core/json.h"
#include "tune/server_trial.h"

namespace assay::cli {

/// A row for each trial, with problems listed below; `best`: the number of the best trial; empty:
/// none counts.
std::string server_trials_text(const std::vector<ServerTrial>& trials,
                               std::optional<std::size_t> best, std::size_t width,
                               const Style& style);

/// One sentence.
std::string server_proof_text(const ServerProof& proof, const Settings& best);

/// Everything as one object; `proof` is empty if there was nothing to test.
Json server_tuning_json(const std::vector<ServerTrial>& trials, std::optional<std::size_t> best,
                        const std::optional<ServerProof>& proof,
                        const std::vector<ServerPair>& pairs);

}  // namespace assay::cli
