// Checks and messages shared by all kinds of communicators.
#pragma once

#include <optional>
#include <string>

#include "ranks/collective/communicator.h"

namespace assay {

/// Whether this device uses host memory.
bool has_host_memory(const Device& device);

/// Why `type` is not a type in memory; empty: it is.
std::optional<std::string> no_type_of_memory(DataType type);

/// Error: unsupported, if `communicator` cannot do `call`.
Status check_supported(const Communicator& communicator, const CollectiveCall& call);

/// Error: usage, if the bounds of `config` are negative or contradict each other.
Status check_config(const CommunicatorConfig& config);

/// Team::exchange() of each rank's result. Error: on all ranks the error of the first rank that had
/// one, with its name; or as Team reports.
Result<std::vector<std::string>> exchange_or_fail(Team& team, std::string_view step,
                                                  Result<std::string> mine);

}  // namespace assay
