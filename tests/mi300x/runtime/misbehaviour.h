// Invented architectures make the compiler misbehave, for tests of its callers.
#pragma once

#include <string>

namespace mi300x::runtime {

/// "abort", "exit" and "hang" do what they say, "talk" sends nonsense to the caller's socket,
/// "huge" returns 200 MiB of code. False for every other name.
bool misbehave(const std::string& arch, std::string& code);

}  // namespace mi300x::runtime
