// Starts another program as a child of this one, without a shell. core/program.h also runs it to
// its end; this is for a child that this process talks to.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/descriptor.h"

namespace assay {

/// The descriptor number under which the child finds `ChildFiles::conversation`. Descriptors passed
/// to a child must have higher numbers, so that dup2() overwrites none of them.
constexpr int child_conversation = 3;

/// The descriptors of this process that the child inherits. Where a member is -1, the child keeps
/// what this process has under that number, if programs inherit it (no O_CLOEXEC). The child's
/// standard input is empty.
struct ChildFiles {
  int output = -1;        ///< becomes standard output
  int messages = -1;      ///< becomes standard error
  int conversation = -1;  ///< becomes child_conversation
};

/// Starts the program at `path` with `words` as its argv, including argv[0], and with this
/// process's environment. It gets default signal handling and a separate process group, so that
/// Ctrl-C lets the measurement shut down in order and does not kill the child. Returns the process
/// id, which the caller must wait for, or the negated errno.
pid_t start_child(const std::string& path, std::vector<std::string> words, const ChildFiles& files);

}  // namespace assay
