// Invented architectures that make the compiler misbehave, for tests of its callers.
#pragma once

#include <string>

namespace mi300x::runtime {

/// Misbehaves for the names "abort", "exit" and "hang", for "talk" (sends nonsense to the caller's
/// socket) and for "huge" (returns 200 MiB of code). Returns false for every other name.
bool misbehave(const std::string& arch, std::string& code);

}  // namespace mi300x::runtime
