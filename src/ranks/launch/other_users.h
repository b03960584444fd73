// Finds other users of this machine, who could connect to ports that this process listens on.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <vector>

namespace assay {

/// Returns the ids, ascending, of users other than `self` and system users that have processes
/// according to `proc`. Returns nullopt if `proc` cannot be read or hides other users' processes;
/// there may be some then. System users are root, nobody and ids below 1000.
std::optional<std::vector<uid_t>> other_users(uid_t self,
                                              const std::filesystem::path& proc = "/proc");

}  // namespace assay
