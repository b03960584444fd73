// Who else is on this machine, and could connect to what listens here.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <vector>

namespace assay {

/// The ids of the users, other than `self` and those of the system, that have processes according
/// to `proc`, ascending; nullopt if it hides processes of others. Users of the system are root,
/// nobody and ids below 1000.
std::optional<std::vector<uid_t>> other_users(uid_t self,
                                              const std::filesystem::path& proc = "/proc");

}  // namespace assay
