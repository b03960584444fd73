// Cubins: ELF files with NVIDIA machine code.
#pragma once

#include "advise/occupancy/image.h"
#include "core/result.h"
#include "machine/code_object/elf.h"

namespace assay::occupancy {

/// Reads a cubin; `file` is the whole cubin, and `elf` what read_elf() made of it. Error: usage if
/// it is damaged.
Result<CodeImage> read_cubin(Bytes file, const Elf& elf);

}  // namespace assay::occupancy
