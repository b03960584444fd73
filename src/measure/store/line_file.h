// A file of lines that several processes may append to and any of them may die at any moment.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay {

/// Under a lock of the file, each append first cuts off a last line without its newline (a writer
/// died in it), then writes whole lines and syncs; a failed write is undone.
class LineFile {
 public:
  /// Opens or creates `path` and proves that it can be written. Error: usage (no permission, not a
  /// file) or exhausted (disk full, quota, file size limit), naming the path and the cause.
  static Result<LineFile> open(const std::filesystem::path& path);
  LineFile(LineFile&& other) noexcept;
  LineFile& operator=(LineFile&& other) noexcept;
  ~LineFile();

  /// Appends `line` (without its newline). Durable when it returns.
  Status append(std::string_view line);
  /// The same unless `already_there` is true for one of the file's lines, which no other writer can
  /// change in between.
  Status append_unless(const std::function<bool(std::string_view line)>& already_there,
                       std::string_view line);

 private:
  LineFile(std::filesystem::path path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}
  Error failure(const char* action) const;  ///< from errno
  Status lock();
  void unlock();
  Status cut_torn_line();
  Status write_whole(std::string_view text);

  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace assay
