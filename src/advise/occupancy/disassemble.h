// Disassembles an AMD code object with a tool found on this machine.
#pragma once

#include <string>

#include "advise/occupancy/image.h"
#include "core/result.h"

namespace assay::occupancy {

/// Returns the assembly of `image`, which must be an AMD code object, as `llvm-objdump -d` prints
/// it. Tries every llvm-objdump that find_tools() (tool.h) returns until one succeeds, since an old
/// one does not support new processors. Error: as find_tools(); if none succeeds, as run_tool()
/// (tool.h) with the last one.
Result<std::string> disassemble(const CodeImage& image);

}  // namespace assay::occupancy
