#include "core/write_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <system_error>

#include "core/descriptor.h"
#include "core/file_error.h"

namespace assay {

namespace fs = std::filesystem;
namespace {

constexpr std::string_view ending = ".part";
/// Files of stores and campaigns, to which lines are appended.
constexpr std::string_view kept_names[] = {"records.jsonl", "fingerprints.jsonl", "units.jsonl"};

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

Result<NewFile> NewFile::create(const fs::path& path) {
  std::error_code error;
  NewFile created(path);
  if (fs::exists(path, error) && fs::is_other(path, error)) {
    created.file_.reset(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!created.file_.is_open()) return unwritable(path, "cannot be written", errno);
    return created;
  }
  fs::path part;
  const int opened = open_new_beside(path, part);
  if (opened < 0) return unwritable(path, "cannot be written", -opened);
  created.file_.reset(opened);
  created.part_ = std::move(part);
  return created;
}

NewFile::~NewFile() {
  std::error_code ignored;
  if (!part_.empty()) fs::remove(part_, ignored);
}

Status NewFile::append(std::string_view text) {
  if (const int code = write_all(file_.number(), text); code != 0)
    return unwritable(path_, "cannot be written", code);
  return {};
}

Status NewFile::finish() {
  // Network file systems report a full disk only on close().
  if (::close(file_.release()) != 0) return unwritable(path_, "cannot be written", errno);
  if (part_.empty()) return {};
  std::error_code error;
  fs::rename(part_, path_, error);
  if (error) return unwritable(path_, "cannot be replaced", error.value());
  part_.clear();
  return {};
}

Status write_file(const fs::path& path, std::string_view text) {
  NewFile file = TRY(NewFile::create(path));
  TRY(file.append(text));
  return file.finish();
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
  if (std::ranges::find(kept_names, path.filename()) != std::end(kept_names) &&
      fs::is_regular_file(path, error)) {
    return Error{ErrorKind::usage,
                 fmt::format("{} has the name of results of a store or a campaign, which are "
                             "never replaced; name another file to write",
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

Status create_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return {};
  // Missing folders are created, so one that is still missing is refused by the file system.
  const bool is_refused = error == std::errc::no_such_file_or_directory;
  return Error{is_refused ? ErrorKind::file : kind_of_file_error(error.value()),
               fmt::format("cannot create the folder {}: {}", folder.string(), error.message())};
}

bool is_unfinished(std::string_view name, std::string_view of) {
  constexpr std::size_t digits = 8;  // of the random number, after a dot
  if (!name.starts_with(of) || !name.ends_with(ending)) return false;
  if (name.size() != of.size() + 1 + digits + ending.size() || name[of.size()] != '.') return false;
  const std::string_view number = name.substr(of.size() + 1, digits);
  return number.find_first_not_of("0123456789abcdef") == std::string_view::npos;
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
