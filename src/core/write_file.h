// A file written whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/result.h"

namespace assay {

/// Through a temporary file beside it: a file that breaks off must not look like one. A device or a
/// pipe is written as it is. Error: exhausted, naming the path and the cause.
Status write_file(const std::filesystem::path& path, std::string_view text);

/// Whether `name` is that of what a process leaves that dies while it writes the file named `of`.
bool is_unfinished(std::string_view name, std::string_view of);

}  // namespace assay
