// The load of `assay versus A B -- load ...` as a plan has it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay::cli {

struct PlannedLoad {
  std::string load;     ///< the plan's key: "load: {max-concurrency: 4}\n"
  std::string servers;  ///< per environment: "url: http://a:8000", "spawn: ..., servers: 8"
};

/// The budget of a campaign whose load starts servers, unless another is given. A server of a large
/// model takes minutes to start, and every unit starts its own.
constexpr std::string_view budget_with_servers = "4h";

/// Returns whether the load starts its servers, rather than using some that run.
bool starts_servers(const PlannedLoad& load);

/// Returns the words before the first one that is "load" or an option, where the load begins.
std::vector<std::string> words_before_load(const std::vector<std::string>& words);

/// `words`: options of `assay load`, with or without "load" before them. Error: usage, naming the
/// option, or if they name no server.
Result<PlannedLoad> planned_load(std::vector<std::string> words);

}  // namespace assay::cli
