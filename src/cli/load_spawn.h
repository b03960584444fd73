// Servers that a command starts for its load: --spawn and what belongs to it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "serving/spawn.h"

namespace assay::cli {

/// What to start, without its logs; empty: --spawn is not given. Error: usage, naming the option.
Result<std::optional<SpawnPlan>> read_spawn(const Arguments& arguments);
/// The same of `command`, whatever --spawn says.
Result<SpawnPlan> read_spawn_plan(const Arguments& arguments, const std::string& command);

/// Where a run keeps what its servers write: in the folder of the store, or of temporary files
/// where there is no store.
std::filesystem::path server_logs(const std::string& folder, const std::string& run);

/// Starts them, and shows how long they take. Ends early if an interrupt is requested. Error: as
/// SpawnedServers::start().
Result<std::unique_ptr<SpawnedServers>> spawn_servers(const SpawnPlan& plan, Terminal& terminal);

/// What records say of them; values of secrets are hidden.
std::vector<std::pair<std::string, std::string>> spawn_notes(const SpawnPlan& plan);

}  // namespace assay::cli
