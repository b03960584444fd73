#include "core/folder_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>

#include "core/file_error.h"
#include "core/file_lock.h"
#include "core/write_file.h"

namespace assay {

Result<std::unique_ptr<Descriptor>> lock_folder(const std::filesystem::path& folder,
                                                std::string_view user) {
  TRY(create_folder(folder));
  const std::filesystem::path file = folder / folder_lock_name;
  constexpr int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC;
  auto lock = std::make_unique<Descriptor>(::open(file.c_str(), flags, 0666));
  if (lock->number() >= 0 && ::flock(lock->number(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno == EWOULDBLOCK) {
    return Error{ErrorKind::usage,
                 fmt::format("{} is in use by another {}, {}; wait for it or stop it",
                             folder.string(), user, lock_holder(lock->number()))};
  }
  if (errno == ELOOP && is_link(file)) return refused_link(file);
  return Error{kind_of_file_error(errno),
               fmt::format("cannot write {}: {}", file.string(), std::strerror(errno))};
}

}  // namespace assay
