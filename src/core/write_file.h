// Writes a file as a whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "core/descriptor.h"
#include "core/result.h"

namespace assay {

/// Writes a temporary file beside `path` and renames it, so that a partly written file is never
/// mistaken for a whole one. A file or link at `path` is replaced; a device or pipe, or a link to
/// one, is written directly. Error, naming the path and the cause: exhausted if
/// kind_of_file_error() (file_error.h) says so, as for a full disk; file in all other cases.
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
  /// Puts the file at its path, in the place of one that is there. Nothing may be appended
  /// afterwards.
  Status finish();

 private:
  explicit NewFile(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_, part_;  // part_ is empty if path_ is a device or a pipe
  Descriptor file_;
};

/// Checks whether write_file() could write there, before work whose result will be written begins.
/// It changes no file, but creates and removes one beside it, unless `path` is a device or a pipe;
/// a disk that fills up meanwhile is found later. Error: as write_file(); usage, if that would
/// replace one of the files `reads` that the work reads, or a file that has the name of results of
/// a store or a campaign: records.jsonl, fingerprints.jsonl, units.jsonl.
Status check_writable(const std::filesystem::path& path,
                      const std::vector<std::filesystem::path>& reads = {});

/// Creates a folder and those above it, unless it exists. Error: file, if its file system refuses
/// it; otherwise as kind_of_file_error() (file_error.h), naming the folder and the cause.
Status create_folder(const std::filesystem::path& folder);

/// Returns whether `name` is that of a temporary file of write_file() for the file named `of`: a
/// process died while it wrote, or still writes.
bool is_unfinished(std::string_view name, std::string_view of);

/// Returns whether `path` is a symbolic link.
bool is_link(const std::filesystem::path& path);
/// Returns the error of kind file that `path`, where a file of assay's own would be written, is a
/// link.
Error refused_link(const std::filesystem::path& path);

}  // namespace assay
