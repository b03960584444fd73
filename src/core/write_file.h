// A file written whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/result.h"

namespace assay {

/// Writes through a temporary file beside it, so that a partly written file is never mistaken for a
/// whole one. A device or pipe is written directly. Error: exhausted, naming the path and the
/// cause.
Status write_file(const std::filesystem::path& path, std::string_view text);

/// Whether `name` is a temporary file left by a process that died while writing the file `of`.
bool is_unfinished(std::string_view name, std::string_view of);

/// Whether `path` is a symbolic link.
bool is_link(const std::filesystem::path& path);
/// Error: file: a link stands where a file of assay's own would be written.
Error refused_link(const std::filesystem::path& path);

}  // namespace assay
