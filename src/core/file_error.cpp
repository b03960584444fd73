#include "core/file_error.h"

#include <cerrno>

namespace assay {

ErrorKind kind_of_file_error(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return ErrorKind::exhausted;
    case EACCES:
    case EPERM:
    case EROFS:
    case EIO:
    case ESTALE:
    case ELOOP:
    case ETIMEDOUT:
      return ErrorKind::file;
    default:
      return ErrorKind::usage;
  }
}

}  // namespace assay
