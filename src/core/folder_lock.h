// Locks a folder, so that only one process uses it.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "core/descriptor.h"
#include "core/result.h"

namespace assay {

/// The name of the file that is locked.
inline constexpr const char* folder_lock_name = "lock";

/// Creates the folder if necessary, and holds it until the result is destroyed or the process ends.
/// `user` names the program that may hold it: "assay campaign". Error: usage, if another process
/// holds it; file, if it may not be written; exhausted on a full disk.
Result<std::unique_ptr<Descriptor>> lock_folder(const std::filesystem::path& folder,
                                                std::string_view user);

}  // namespace assay
