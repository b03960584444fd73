#include "core/folder_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace assay {

Result<std::unique_ptr<Descriptor>> lock_folder(const std::filesystem::path& folder,
                                                std::string_view user) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return Error{error == std::errc::no_space_on_device ? ErrorKind::exhausted : ErrorKind::usage,
                 fmt::format("cannot create the folder {}: {}", folder.string(), error.message())};
  }
  const std::filesystem::path file = folder / folder_lock_name;
  auto lock =
      std::make_unique<Descriptor>(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (lock->number() >= 0 && ::flock(lock->number(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno == EWOULDBLOCK) {
    return Error{ErrorKind::usage, fmt::format("{} is in use by another {}; wait for it or stop it",
                                               folder.string(), user)};
  }
  return Error{errno == ENOSPC ? ErrorKind::exhausted : ErrorKind::usage,
               fmt::format("cannot write {}: {}", file.string(), std::strerror(errno))};
}

}  // namespace assay
