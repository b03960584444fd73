// A file written whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/result.h"

namespace assay {

/// Through a temporary file beside it: a file that breaks off must not look like one. A device or a
/// pipe is written as it is. Error: exhausted, naming the path and the cause.
Status write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace assay
