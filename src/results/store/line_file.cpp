#include "results/store/line_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "core/file_error.h"
#include "core/file_lock.h"
#include "core/input_file.h"
#include "core/write_file.h"

namespace assay {
namespace {

/// Makes the directory entry of a new file durable. A file system that cannot sync folders loses
/// nothing that is relied on here.
void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

Error LineFile::failure(const char* action) const {
  const int error = errno;
  return {kind_of_file_error(error),
          fmt::format("cannot {} {}: {}", action, path_.string(), std::strerror(error))};
}

Result<LineFile> LineFile::open(const std::filesystem::path& path) {
  // Through a link, lines would be cut from and appended to somebody's file.
  constexpr int flags = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
  const int descriptor = ::open(path.c_str(), flags, 0666);
  LineFile file(path, descriptor);
  if (descriptor < 0 && errno == ELOOP && is_link(path)) return refused_link(path);
  if (descriptor < 0) return file.failure("write");
  TRY(file.lock());
  Status probe = file.cut_torn_line();
  if (probe.ok()) {
    // An empty line is written and removed, so that a full disk is noticed now and not after the
    // first measurement.
    struct stat status = {};
    if (::fstat(descriptor, &status) != 0) {
      probe = file.failure("examine");
    } else {
      probe = file.write_whole("\n");
      if (probe.ok() && ::ftruncate(descriptor, status.st_size) != 0) {
        probe = file.failure("truncate");
      }
    }
  }
  file.unlock();
  TRY(probe);
  sync_folder(path.parent_path());
  return file;
}

LineFile::LineFile(LineFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

LineFile& LineFile::operator=(LineFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

LineFile::~LineFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status LineFile::lock() {
  return lock_file(descriptor_, path_);
}

void LineFile::unlock() {
  unlock_file(descriptor_);
}

Status LineFile::cut_torn_line() {
  struct stat status = {};
  if (::fstat(descriptor_, &status) != 0) return failure("examine");
  if (!S_ISREG(status.st_mode)) {
    return Error{ErrorKind::usage, fmt::format("{} is not a file", path_.string())};
  }
  std::vector<char> piece(1 << 16);
  off_t end = status.st_size;
  while (end > 0) {
    const off_t begin = std::max<off_t>(0, end - static_cast<off_t>(piece.size()));
    const ssize_t got =
        ::pread(descriptor_, piece.data(), static_cast<std::size_t>(end - begin), begin);
    if (got != end - begin) return failure("read");
    const auto last = std::find(piece.rend() - got, piece.rend(), '\n');
    if (last != piece.rend()) {
      end = begin + (piece.rend() - last);
      break;
    }
    end = begin;
  }
  if (end != status.st_size && ::ftruncate(descriptor_, end) != 0) return failure("truncate");
  return {};
}

Status LineFile::write_whole(std::string_view text) {
  struct stat before = {};
  if (::fstat(descriptor_, &before) != 0) return failure("examine");
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      Error error = failure("write");
      // If this fails too, the torn line remains until the next writer removes it.
      if (::ftruncate(descriptor_, before.st_size) != 0) error.message += " (last line is torn)";
      return error;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fdatasync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) return failure("sync");
  return {};
}

Status LineFile::append(std::string_view line) {
  return append_unless(nullptr, line);
}

Status LineFile::append_unless(const std::function<bool(std::string_view)>& already_there,
                               std::string_view line) {
  TRY(lock());
  const Status status = append_locked(already_there, line);
  unlock();
  return status;
}

Status LineFile::append_chosen(const std::function<Status(const Appender&)>& choose) {
  TRY(lock());
  const Status status = append_chosen_locked(choose);
  unlock();
  return status;
}

Status LineFile::append_chosen_locked(const std::function<Status(const Appender&)>& choose) {
  TRY(check_still_there());
  TRY(cut_torn_line());
  struct stat before = {};
  if (::fstat(descriptor_, &before) != 0) return failure("examine");
  Status status =
      choose([this](std::string_view lines) { return write_whole(std::string(lines) + '\n'); });
  if (!status.ok() && ::ftruncate(descriptor_, before.st_size) != 0) {
    return Error{status.error().kind, status.error().message + " (a part was stored)"};
  }
  return status;
}

Status LineFile::append_locked(const std::function<bool(std::string_view)>& already_there,
                               std::string_view line) {
  TRY(check_still_there());
  TRY(cut_torn_line());
  if (already_there) {
    constexpr std::size_t longest = std::size_t{1} << 30;
    InputLines lines = TRY(InputLines::open(path_, longest));
    while (const std::optional<InputLine> existing = TRY(lines.next())) {
      if (already_there(existing->text)) return {};
    }
  }
  return write_whole(std::string(line) + '\n');
}

/// Fails if the file was deleted or replaced, because text written to a deleted file is lost.
Status LineFile::check_still_there() const {
  struct stat ours = {}, there = {};
  if (::fstat(descriptor_, &ours) != 0) return failure("examine");
  if (::stat(path_.c_str(), &there) == 0 && there.st_dev == ours.st_dev &&
      there.st_ino == ours.st_ino) {
    return {};
  }
  return Error{ErrorKind::usage,
               fmt::format("cannot write {}: it was deleted or replaced while it was in use",
                           path_.string())};
}

}  // namespace assay
