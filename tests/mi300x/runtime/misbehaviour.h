// Architectures that no GPU has make the compiler misbehave, for tests of who calls it.
#pragma once

#include <string>

namespace mi300x::runtime {

/// "abort", "exit" and "hang" do so, "talk" speaks nonsense to the caller's socket, "huge" gives
/// 200 MiB of code. False for every other name.
bool misbehave(const std::string& arch, std::string& code);

}  // namespace mi300x::runtime
