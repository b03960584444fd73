// Counts what this process has executed.
#pragma once

#include <string>

#include "emulator/code_object.h"

namespace mi300x {

/// Adds the kernels of a module.
void add_to_coverage(const CodeObject& code);

/// Adds a launch. If the environment has MI300X_COVERAGE=FILE, FILE gets everything at exit.
void add_to_coverage(const Kernel& kernel, const CodeObject& code,
                     const std::vector<u64>& executions);

/// Appends lines "KIND NAME COUNT" to the file that MI300X_COVERAGE names, in one write, so that
/// lines of processes that end at the same time do not mix. Without the variable it does nothing.
void append_coverage(const std::string& lines);

}  // namespace mi300x
