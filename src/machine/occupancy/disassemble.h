// The instructions of an AMD code object, by a disassembler found on this machine.
#pragma once

#include <string>

#include "core/result.h"
#include "machine/occupancy/image.h"

namespace assay::occupancy {

/// Tries every llvm-objdump there is, since an old one does not know a new processor. Error:
/// unavailable if there is none, naming the places; failed with the last one's message.
Result<std::string> disassemble(const CodeImage& image);

}  // namespace assay::occupancy
