// One process at a time in a folder.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "core/descriptor.h"
#include "core/result.h"

namespace assay {

/// The name of the file that is locked.
inline constexpr const char* folder_lock_name = "lock";

/// Creates the folder if need be, and holds it until the result is destroyed or the process ends.
/// `user` names who else may hold it: "assay campaign". Error: usage, if another process holds it;
/// file, if it may not be written; exhausted on a full disk.
Result<std::unique_ptr<Descriptor>> lock_folder(const std::filesystem::path& folder,
                                                std::string_view user);

}  // namespace assay
