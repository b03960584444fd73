// The servers of a load: those that --spawn starts, and what the client must know of each.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/serving/load_request.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "serving/spawn.h"

namespace assay::cli {

/// What to start, without the log path; empty: --spawn is not given. Error: usage, naming the
/// option.
Result<std::optional<SpawnPlan>> read_spawn(const Arguments& arguments);
/// The SpawnPlan for `command`; --spawn is ignored. Error: usage, naming the option.
Result<SpawnPlan> read_spawn_plan(const Arguments& arguments, const std::string& command);

/// The path of the server logs of a run: in the store's folder, or in the temporary folder if there
/// is no store.
std::filesystem::path server_logs(const std::string& folder, const std::string& run);

/// Starts the servers and shows progress. Ends early on an interrupt. Error: as from
/// SpawnedServers::start().
Result<std::unique_ptr<SpawnedServers>> spawn_servers(const SpawnPlan& plan, Terminal& terminal);

/// Names and texts of notes about the servers for records; values of secrets are hidden.
std::vector<std::pair<std::string, std::string>> spawn_notes(const SpawnPlan& plan);

/// Finds the servers at the request's URLs, their model and, if they take no token ids, the length
/// of their tokens, and whether they are simulated; stores this in the request. Error: unavailable,
/// naming the server; usage, if simulated servers are mixed with others, or the prompts are token
/// ids that the API does not take; failed, if the vocabulary that a server states is too small.
Status find_servers(LoadRequest& request);

}  // namespace assay::cli
