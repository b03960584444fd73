// Locks a folder, so that only one process uses it.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "core/descriptor.h"
#include "core/result.h"

namespace assay {

/// The name of the file in the folder that is locked. It stays there afterwards.
inline constexpr const char* folder_lock_name = "lock";

/// Creates the folder if necessary, and holds its lock until the result is destroyed or the process
/// ends. It does not wait. `user` names the program that may hold it: "assay campaign". Error:
/// usage, naming the process that holds it; as refused_link() (write_file.h) if the lock is a link;
/// as create_folder() (write_file.h) and kind_of_file_error() (file_error.h) if it cannot be
/// written.
Result<std::unique_ptr<Descriptor>> lock_folder(const std::filesystem::path& folder,
                                                std::string_view user);

}  // namespace assay
