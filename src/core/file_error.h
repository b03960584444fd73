// The kind of error of a failed system call on a file.
#pragma once

#include "core/result.h"

namespace assay {

/// Classifies an errno. exhausted: the disk is full or a limit of this process is reached. file:
/// permissions, a read-only file system or a failing device. usage: the named file does not exist
/// or is of another kind.
ErrorKind kind_of_file_error(int error);

}  // namespace assay
