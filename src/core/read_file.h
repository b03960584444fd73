// Reads a whole file as text.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "core/result.h"

namespace assay {

/// The result of reading a file: its bytes, or the errno of the failure.
struct FileBytes {
  int error = 0;
  std::string text;
};

/// Returns everything that the file holds. Errors: EFBIG if that is more than `most` bytes, EISDIR
/// or ENOTSUP for anything that is neither a file nor a pipe, ETIMEDOUT for a pipe whose writer is
/// silent for a minute. iostreams cannot be used: libstdc++ throws when a read fails, as on sysfs
/// files that return EINVAL or EPERM.
FileBytes read_bytes(const std::filesystem::path& path, std::size_t most);

/// Reads one of assay's own files; nullopt if it cannot be read completely.
std::optional<std::string> read_file(const std::filesystem::path& path);

/// Returns the first bytes of a file; fewer if it is shorter or cannot be read. Returns nothing of
/// a pipe, because the bytes would be missing afterwards.
std::string start_of_file(const std::filesystem::path& path, std::size_t bytes);

/// Reads a whole file that the user named. Error, naming the path, the cause and the limit: usage;
/// file, if it may not or cannot be read; exhausted, without free descriptors.
Result<std::string> read_operand(const std::filesystem::path& path, std::size_t most);

}  // namespace assay
