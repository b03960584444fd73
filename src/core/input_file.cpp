#include "core/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/file_error.h"

namespace assay {
namespace {

/// Waits for a pipe's writer. Returns true if there is data to read, or the end of the pipe.
bool wait_for_writer(int file) {
  constexpr int patience_ms = 60'000;
  pollfd waiting{file, POLLIN, 0};
  return ::poll(&waiting, 1, patience_ms) > 0;
}

}  // namespace

int InputFile::open(const std::filesystem::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (!file.is_open() || ::fstat(file.number(), &status) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  pipe_ = S_ISFIFO(status.st_mode);
  if (!S_ISREG(status.st_mode) && !pipe_) return ENOTSUP;
  size_ = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
  file_ = std::move(file);
  return 0;
}

int InputFile::read(std::span<char> room, std::size_t& got) {
  got = 0;
  for (;;) {
    const ssize_t result = ::read(file_.number(), room.data(), room.size());
    if (result >= 0) {
      got = static_cast<std::size_t>(result);
      return 0;
    }
    if (errno == EAGAIN && pipe_) {
      if (!wait_for_writer(file_.number())) return ETIMEDOUT;
    } else if (errno != EINTR) {
      return errno;
    }
  }
}

Status InputFile::read_all_at(std::span<std::byte> room, std::size_t offset) const {
  while (!room.empty()) {
    const ssize_t got =
        ::pread(file_.number(), room.data(), room.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int error = errno;
      return Error{kind_of_file_error(error),
                   fmt::format("cannot be read: {}", std::strerror(error))};
    }
    if (got == 0) {
      return Error{ErrorKind::usage,
                   fmt::format("ends before byte {}; is it whole?", offset + room.size())};
    }
    room = room.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::size_t>(got);
  }
  return {};
}

Error unreadable(const std::filesystem::path& path, int error) {
  const char* const cause =
      error == ENOTSUP ? "it is neither a file nor a pipe" : std::strerror(error);
  return {kind_of_file_error(error), fmt::format("cannot read {}: {}", path.string(), cause)};
}

Status check_access(const std::filesystem::path& path) {
  struct stat status = {};
  int error = ::stat(path.c_str(), &status) == 0 ? 0 : errno;
  if (error == 0 && S_ISDIR(status.st_mode) && ::eaccess(path.c_str(), X_OK) != 0) error = errno;
  if (error == 0 || kind_of_file_error(error) != ErrorKind::file) return {};
  return unreadable(path, error);
}

Result<std::vector<std::filesystem::path>> list_folder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> entries;
  std::error_code error;
  // A range-based loop would throw; increment() reports errors.
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    entries.push_back(at->path());
  }
  if (error) return unreadable(folder, error.value());
  std::sort(entries.begin(), entries.end());
  return entries;
}

Result<InputLines> InputLines::open(const std::filesystem::path& path, std::size_t longest) {
  InputFile file;
  if (const int error = file.open(path)) return unreadable(path, error);
  return InputLines(path, std::move(file), longest);
}

InputLine InputLines::take(std::size_t length, bool ended) {
  const InputLine line{++number_, {buffer_.data() + begin_, length}, ended};
  begin_ += length + (ended ? 1 : 0);
  return line;
}

Result<std::optional<InputLine>> InputLines::next() {
  constexpr std::size_t least_room = std::size_t{1} << 16;
  for (std::size_t searched = 0;;) {
    const char* const begin = buffer_.data() + begin_;
    const char* const end = buffer_.data() + end_;
    const char* const found = std::find(begin + searched, end, '\n');
    const auto length = static_cast<std::size_t>(found - begin);
    if (length > longest_) {
      return Error{ErrorKind::usage, fmt::format("{}:{}: the line is longer than {} MiB",
                                                 path_.string(), number_ + 1, longest_ >> 20)};
    }
    if (found != end) return std::optional(take(length, true));
    if (at_end_ && length == 0) return std::optional<InputLine>();
    if (at_end_) return std::optional(take(length, false));
    searched = length;
    std::copy(begin, end, buffer_.data());  // the line's start moves to the front
    begin_ = 0;
    end_ = length;
    if (buffer_.size() - end_ < least_room) buffer_.resize(2 * end_ + least_room);
    std::size_t got = 0;
    const int error = file_.read({buffer_.data() + end_, buffer_.size() - end_}, got);
    if (error != 0) return unreadable(path_, error);
    end_ += got;
    at_end_ = got == 0;
  }
}

}  // namespace assay
