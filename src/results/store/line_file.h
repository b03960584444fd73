// A file of lines to which several processes may append; any of them may die at any moment.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay {

/// Each append locks the file, removes a last line without newline (left by a writer that died),
/// then writes whole lines and syncs; a failed write is undone. An object is for one thread: its
/// own threads do not wait for each other's lock.
class LineFile {
 public:
  /// Opens or creates `path` and checks that it is writable. Error: usage (not a file, or in no
  /// folder), file (no permission, a link, or another process has locked it for a minute) or
  /// exhausted (disk full, quota, file size limit), naming the path and the cause.
  static Result<LineFile> open(const std::filesystem::path& path);
  LineFile(LineFile&& other) noexcept;
  LineFile& operator=(LineFile&& other) noexcept;
  ~LineFile();

  /// Appends `line` (without its newline). The line is durable when the call returns, unless the
  /// file system cannot sync. Error: usage, if the file was deleted or replaced since it was
  /// opened; file and exhausted as open().
  Status append(std::string_view line);
  /// Appends `line` unless `already_there` returns true for a line of the file. No other writer can
  /// change the file in between. Error: as append(); usage if a line is longer than 1 GiB.
  Status append_unless(const std::function<bool(std::string_view line)>& already_there,
                       std::string_view line);
  /// Calls `choose`, which may read the file and appends lines with the function that it is given,
  /// each call as append() does; `lines` are joined by newlines. No other writer can change the
  /// file until `choose` returns. If it returns an error, its lines are removed again; if that
  /// fails, the message says that a part was stored.
  using Appender = std::function<Status(std::string_view lines)>;
  Status append_chosen(const std::function<Status(const Appender&)>& choose);

 private:
  LineFile(std::filesystem::path path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}
  Error failure(const char* action) const;  ///< made from errno
  Status lock();
  void unlock();
  Status append_locked(const std::function<bool(std::string_view line)>& already_there,
                       std::string_view line);
  Status append_chosen_locked(const std::function<Status(const Appender&)>& choose);
  Status check_still_there() const;
  Status cut_torn_line();
  Status write_whole(std::string_view text);

  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace assay
