// Files that the user names, read in order and in bounded pieces. Nobody knows what stands behind
// such a name: a device that never ends, a pipe that nobody writes to, a line of gigabytes.
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

/// A file or a pipe. Its functions return 0 or the errno of a failure.
class InputFile {
 public:
  /// Does not wait: a pipe without a writer is empty. EISDIR: a folder, ENOTSUP: neither a file nor
  /// a pipe.
  int open(const std::filesystem::path& path);
  /// Reads at most `room.size()` bytes and sets `got`, 0 only at the end. ETIMEDOUT: a pipe whose
  /// writer was silent for a minute.
  int read(std::span<char> room, std::size_t& got);
  /// Fills `room` with the bytes from `offset` on, of a file; several threads may at once. Error:
  /// usage: "ends before byte N" or the cause, to follow the file's name.
  Status read_all_at(std::span<std::byte> room, std::size_t offset) const;
  bool is_open() const { return file_.is_open(); }
  /// The bytes that the file says it holds; pipes and files of /proc say 0.
  std::size_t size() const { return size_; }

 private:
  Descriptor file_;
  bool pipe_ = false;
  std::size_t size_ = 0;
};

/// "cannot read PATH: cause", of the kind that kind_of_file_error() says. `error`: as InputFile
/// returns it.
Error unreadable(const std::filesystem::path& path, int error);

/// Error: file, if it may not be seen whether `path` is there, or what a folder holds. What is not
/// there passes: whoever asks says what should be.
Status check_access(const std::filesystem::path& path);

struct InputLine {
  std::size_t number = 0;  ///< from 1
  std::string_view text;   ///< without the line end; valid until the next line is read
  bool ended = true;       ///< false: the last line, without a line end
};

/// The lines of a file, of which only one is held at a time.
class InputLines {
 public:
  /// `longest`: bytes of a line. Error: usage, naming the path and the cause.
  static Result<InputLines> open(const std::filesystem::path& path, std::size_t longest);

  /// The next line; nullopt at the end. Error: usage: "PATH:LINE: the line is longer than 64 MiB",
  /// or what failed to be read.
  Result<std::optional<InputLine>> next();

 private:
  InputLines(std::filesystem::path path, InputFile file, std::size_t longest)
      : path_(std::move(path)), file_(std::move(file)), longest_(longest) {}
  InputLine take(std::size_t length, bool ended);

  std::filesystem::path path_;
  InputFile file_;
  std::size_t longest_;
  std::vector<char> buffer_;  // from begin_ to end_: read, but not yet returned
  std::size_t begin_ = 0, end_ = 0, number_ = 0;
  bool at_end_ = false;
};

}  // namespace assay
