// A whole file as text.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace assay {

/// Everything the file holds; empty optional if it cannot be opened or read to its end. Streams
/// will not do for this: libstdc++ throws when a read fails, as on a directory or on sysfs files
/// that answer EINVAL or EPERM.
std::optional<std::string> read_file(const std::filesystem::path& path);

}  // namespace assay
