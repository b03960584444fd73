// What `assay tune serve` shows: its trials, and whether the best one is.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal.h"
#include "core/json.h"
#include "tune/server_trial.h"

namespace assay::cli {

/// A row for each trial, and what went wrong below them; `best`: its number; empty: none counts.
std::string server_trials_text(const std::vector<ServerTrial>& trials,
                               std::optional<std::size_t> best, std::size_t width,
                               const Style& style);

/// One sentence.
std::string server_proof_text(const ServerProof& proof, const Settings& best);

/// All of it as one object; `proof` empty: nothing was to be proven.
Json server_tuning_json(const std::vector<ServerTrial>& trials, std::optional<std::size_t> best,
                        const std::optional<ServerProof>& proof,
                        const std::vector<ServerPair>& pairs);

}  // namespace assay::cli
