// The functions of HIP that this process called, in addition to the kernels and instructions that
// it executed (emulator/coverage.h).
#pragma once

namespace mi300x::runtime {

void write_coverage();

}  // namespace mi300x::runtime
