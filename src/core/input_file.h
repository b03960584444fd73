// Reads files that the user names, in order and in bounded pieces. Such a name may lead to
// anything: a device that never ends, a pipe without a writer, a line of gigabytes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/descriptor.h"
#include "core/result.h"

namespace assay {

/// A file or a pipe. open() and read() return 0 or the errno of a failure.
class InputFile {
 public:
  /// Opens without waiting: a pipe without a writer is empty. Returns EISDIR for a folder, and
  /// ENOTSUP for anything else that is neither a file nor a pipe.
  int open(const std::filesystem::path& path);
  /// Reads at most `room.size()` bytes and sets `got`, to 0 only at the end or after a failure.
  /// Returns ETIMEDOUT for a pipe whose writer was silent for a minute.
  int read(std::span<char> room, std::size_t& got);
  /// Fills `room` with the bytes of a file from `offset` on; several threads may do so at once. A
  /// pipe cannot be read in this way. Error, whose message continues one that begins with the
  /// file's name: usage: "ends before byte N; is it whole?"; as kind_of_file_error()
  /// (file_error.h): "cannot be read: CAUSE".
  Status read_all_at(std::span<std::byte> room, std::size_t offset) const;
  bool is_open() const { return file_.is_open(); }
  /// Returns the size that the system reports; 0 for pipes and files of /proc.
  std::size_t size() const { return size_; }

 private:
  Descriptor file_;
  bool pipe_ = false;
  std::size_t size_ = 0;
};

/// Returns the error "cannot read PATH: cause", of the kind that kind_of_file_error() gives.
/// `error` is a result of InputFile.
Error unreadable(const std::filesystem::path& path, int error);

/// Checks that this process may see whether `path` exists and, if it is a folder, look up files in
/// it. A path that does not exist passes, because only the caller knows what should be there.
/// Error: file.
Status check_access(const std::filesystem::path& path);

/// Returns the paths of all entries of a folder, "FOLDER/NAME", sorted. Error: as unreadable().
Result<std::vector<std::filesystem::path>> list_folder(const std::filesystem::path& folder);

struct InputLine {
  std::size_t number = 0;  ///< from 1
  std::string_view text;  ///< without "\n", but with a "\r" before it; valid until next() is called
  bool ended = true;      ///< false: the last line, which has no line end
};

/// Reads the lines of a file, holding only one at a time.
class InputLines {
 public:
  /// `longest` limits the bytes of a line. Error: as unreadable().
  static Result<InputLines> open(const std::filesystem::path& path, std::size_t longest);

  /// Returns the next line; nullopt at the end. Error: usage: "PATH:LINE: the line is longer than N
  /// MiB"; as unreadable() if reading failed.
  Result<std::optional<InputLine>> next();

 private:
  InputLines(std::filesystem::path path, InputFile file, std::size_t longest)
      : path_(std::move(path)), file_(std::move(file)), longest_(longest) {}
  InputLine take(std::size_t length, bool ended);

  std::filesystem::path path_;
  InputFile file_;
  std::size_t longest_;
  std::vector<char> buffer_;  // bytes begin_ to end_ have been read but not yet returned
  std::size_t begin_ = 0, end_ = 0, number_ = 0;
  bool at_end_ = false;
};

}  // namespace assay
