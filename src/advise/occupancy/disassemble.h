// Disassembles an AMD code object with a tool found on this machine.
#pragma once

#include <string>

#include "advise/occupancy/image.h"
#include "core/result.h"

namespace assay::occupancy {

/// Returns the assembly of an AMD code object, as llvm-objdump -d prints it. Tries every
/// llvm-objdump found, since an old one does not support new processors. Error: unavailable if
/// there is none, naming the places searched, or if the last one cannot be started; failed with the
/// last one's message.
Result<std::string> disassemble(const CodeImage& image);

}  // namespace assay::occupancy
