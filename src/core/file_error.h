// The kind of error of a failed system call on a file.
#pragma once

#include "core/result.h"

namespace assay {

/// Classifies an errno. exhausted: the disk or memory is full, or a limit on open files or on a
/// file's size is reached. file: permissions, a read-only file system, a circle of links, or a
/// device or server that fails. usage: all others, such as a file that does not exist or is of
/// another kind.
ErrorKind kind_of_file_error(int error);

}  // namespace assay
