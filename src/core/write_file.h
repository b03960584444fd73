// Writes a file as a whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "core/descriptor.h"
#include "core/result.h"

namespace assay {

/// Writes through a temporary file beside it, so that a partly written file is never mistaken for a
/// whole one. A device or pipe is written directly. Error: exhausted (disk
/// full, quota) or file (whatever else), naming the path and the cause.
Status write_file(const std::filesystem::path& path, std::string_view text);

/// A file that is written in parts, for texts larger than memory, and is there as a whole once it
/// is finished. Errors are those of write_file().
class NewFile {
 public:
  static Result<NewFile> create(const std::filesystem::path& path);
  NewFile(NewFile&& other) noexcept
      : path_(std::move(other.path_)),
        part_(std::exchange(other.part_, {})),
        file_(std::move(other.file_)) {}
  NewFile& operator=(NewFile&&) = delete;
  /// Leaves nothing of a file that was not finished.
  ~NewFile();

  Status append(std::string_view text);
  /// Puts it in the place of the file that had its name.
  Status finish();

 private:
  explicit NewFile(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_, part_;  // part_ is empty if path_ is a device or a pipe
  Descriptor file_;
};

/// Checks whether write_file() could write there, for a result whose work begins now. Changes no
/// file; a disk that fills up meanwhile is found later. Error: as above; usage, if that would
/// replace one of the files that the work reads.
Status check_writable(const std::filesystem::path& path,
                      const std::vector<std::filesystem::path>& reads = {});

/// Creates a folder and those above it, unless it exists. Error: file, if its file system refuses
/// it; otherwise as kind_of_file_error(), naming the folder and the cause.
Status create_folder(const std::filesystem::path& folder);

/// Returns whether `name` is a temporary file of a process that died while writing the file `of`.
bool is_unfinished(std::string_view name, std::string_view of);

/// Returns whether `path` is a symbolic link.
bool is_link(const std::filesystem::path& path);
/// Error: file: a link stands where a file of assay's own would be written.
Error refused_link(const std::filesystem::path& path);

}  // namespace assay
