// Compiles HIP text or assembly to a code object, with clang++-19, while a test or a benchmark
// runs.
#pragma once

#include <string>

namespace mi300x {

/// Returns why nothing can be compiled; empty if clang++-19 exists.
std::string no_compiler();

/// Compiles HIP text to a code object or to assembly; the keywords __global__, __device__ and
/// __shared__ are defined. Throws std::runtime_error with the compiler's messages.
std::string compile(const std::string& hip, const std::string& arch = "gfx942");
std::string to_assembly(const std::string& hip, const std::string& arch = "gfx942");
std::string assemble(const std::string& assembly, const std::string& arch = "gfx942");
std::string compile_file(const std::string& path, const std::string& arch,
                         const std::string& flags = "");

}  // namespace mi300x
