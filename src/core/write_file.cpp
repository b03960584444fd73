#include "core/write_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <string>

#include "core/descriptor.h"
#include "core/file_error.h"

namespace assay {

namespace fs = std::filesystem;
namespace {

constexpr std::string_view ending = ".part";

/// `what`: "cannot be written".
Error unwritable(const fs::path& path, std::string_view what, int code) {
  const bool exhausted = kind_of_file_error(code) == ErrorKind::exhausted;
  return {exhausted ? ErrorKind::exhausted : ErrorKind::file,
          fmt::format("{} {}: {}", path.string(), what, std::strerror(code))};
}

/// Opens a new file beside `path` under an unpredictable name. In a folder that others may write
/// to, a link prepared under a predictable name would lead the text into another file. Returns the
/// descriptor, or the negated errno.
int open_new_beside(const fs::path& path, fs::path& name) {
  constexpr int most_tries = 16;
  std::random_device random;
  for (int tries = 1;; ++tries) {
    name = path.string() + fmt::format(".{:08x}{}", random(), ending);
    const int file =
        ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file >= 0) return file;
    if (errno != EEXIST || tries == most_tries) return -errno;
  }
}

/// Returns 0, or the errno.
int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

Status write_file(const fs::path& path, std::string_view text) {
  std::error_code error;
  const bool in_place = fs::exists(path, error) && fs::is_other(path, error);
  fs::path part;
  const int opened =
      in_place ? ::open(path.c_str(), O_WRONLY | O_CLOEXEC) : open_new_beside(path, part);
  const auto failure = [&](const char* what, int code) {
    std::error_code ignored;
    if (!part.empty()) fs::remove(part, ignored);
    return unwritable(path, what, code);
  };
  if (opened < 0) {
    const int code = in_place ? errno : -opened;
    part.clear();  // the file does not exist any more
    return failure("cannot be written", code);
  }
  Descriptor file(opened);
  if (const int code = write_all(file.number(), text); code != 0)
    return failure("cannot be written", code);
  // Network file systems report a full disk only on close().
  if (::close(file.release()) != 0) return failure("cannot be written", errno);
  if (in_place) return {};
  fs::rename(part, path, error);
  if (error) return failure("cannot be replaced", error.value());
  return {};
}

Status check_writable(const fs::path& path, const std::vector<fs::path>& reads) {
  std::error_code error;
  for (const fs::path& read : reads) {
    if (!fs::equivalent(path, read, error)) continue;
    return Error{ErrorKind::usage,
                 fmt::format("{} is read and would be replaced by what is written; name another "
                             "file to write",
                             path.string())};
  }
  const auto failure = [&](int code) { return unwritable(path, "cannot be written", code); };
  if (fs::is_directory(path, error)) return failure(EISDIR);
  if (fs::exists(path, error) && fs::is_other(path, error)) {
    // Not opened: a pipe would wait for its reader.
    return ::access(path.c_str(), W_OK) == 0 ? Status() : failure(errno);
  }
  fs::path part;
  const int opened = open_new_beside(path, part);
  if (opened < 0) return failure(-opened);
  const Descriptor file(opened);
  fs::remove(part, error);
  return {};
}

bool is_unfinished(std::string_view name, std::string_view of) {
  return name.starts_with(of) && name.substr(of.size()).starts_with('.') && name.ends_with(ending);
}

bool is_link(const fs::path& path) {
  std::error_code ignored;
  return fs::is_symlink(fs::symlink_status(path, ignored));
}

Error refused_link(const fs::path& path) {
  return {ErrorKind::file,
          fmt::format("cannot write {}: it is a link, and assay would write into the file it leads "
                      "to; remove it, or give another folder",
                      path.string())};
}

}  // namespace assay
