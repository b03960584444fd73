// What every kind of communicator says in the same words.
#pragma once

#include <optional>
#include <string>

#include "ranks/collective/communicator.h"

namespace assay {

/// Whether this device's memory is the host's.
bool has_host_memory(const Device& device);

/// Why elements of `type` do not lie in memory; empty: they do.
std::optional<std::string> no_type_of_memory(DataType type);

/// Error: unsupported, if `communicator` cannot do `call`.
Status check_supported(const Communicator& communicator, const CollectiveCall& call);

/// Team::exchange() of what each rank made, or could not make. Error: the first rank's that could
/// not, with its name, on all ranks; or as Team says.
Result<std::vector<std::string>> exchange_or_fail(Team& team, std::string_view step,
                                                  Result<std::string> mine);

}  // namespace assay
