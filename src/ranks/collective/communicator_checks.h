// Checks shared by all kinds of communicators.
#pragma once

#include <optional>
#include <string>

#include "ranks/collective/communicator.h"

namespace assay {

/// Returns whether this device uses host memory.
bool has_host_memory(const Device& device);

/// Returns why elements in memory cannot have `type`; empty if they can.
std::optional<std::string> no_type_of_memory(DataType type);

/// Error: unsupported, if `communicator` does not support `call`.
Status check_supported(const Communicator& communicator, const CollectiveCall& call);

/// Error: usage, if the bounds of `config` are negative or contradict each other.
Status check_config(const CommunicatorConfig& config);

}  // namespace assay
