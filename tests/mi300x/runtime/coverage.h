// Which functions of HIP this process called, beside the kernels and instructions it executed
// (emulator/coverage.h).
#pragma once

namespace mi300x::runtime {

void write_coverage();

}  // namespace mi300x::runtime
