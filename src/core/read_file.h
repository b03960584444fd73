// Reads a whole file as text.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "core/result.h"

namespace assay {

struct FileBytes {
  int error = 0;     ///< errno of the failure; 0: none
  std::string text;  ///< the file's bytes; empty after a failure
};

/// Returns everything that the file holds. Errors: EFBIG if that is more than `most` bytes, and
/// those of InputFile (core/input_file.h). iostreams cannot be used: libstdc++ throws when a read
/// fails, as on sysfs files that return EINVAL or EPERM.
FileBytes read_bytes(const std::filesystem::path& path, std::size_t most);

/// Reads a file of assay's own or of the system; nullopt if it cannot be read completely or holds
/// more than 4 GiB.
std::optional<std::string> read_file(const std::filesystem::path& path);

/// Returns the first bytes of a file; fewer if it is shorter or cannot be read. Returns nothing of
/// a pipe, because the bytes would be missing afterwards, nor of a file that reports no size, as in
/// /proc.
std::string start_of_file(const std::filesystem::path& path, std::size_t bytes);

/// Reads a whole file or pipe that the user named. Error: usage, naming the limit, if it holds more
/// than `most` bytes; as unreadable() (input_file.h) if it cannot be read.
Result<std::string> read_operand(const std::filesystem::path& path, std::size_t most);

}  // namespace assay
