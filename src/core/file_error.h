// What kind of error a system call on a file ended in.
#pragma once

#include "core/result.h"

namespace assay {

/// exhausted: the disk is full, or a limit of this process is reached. file: permissions, a
/// read-only file system, a device that fails. usage: what was named is not there or is something
/// else.
ErrorKind kind_of_file_error(int error);

}  // namespace assay
