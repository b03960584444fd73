// AMD code objects: ELF files with a note that describes their kernels.
#pragma once

#include "advise/occupancy/image.h"
#include "core/json_fwd.h"
#include "core/result.h"
#include "machine/code_object/elf.h"

namespace assay::occupancy {

/// Reads an AMD code object; `file` is the whole object. Error: usage.
Result<CodeImage> read_amd_object(Bytes file, const Elf& elf);

/// Reads one kernel's metadata, from a note or from assembly text. Error: usage, naming the field
/// that is missing or not a number.
Result<KernelUse> kernel_of_metadata(const SortedJson& kernel);

/// The architecture in a target: "gfx942" in "amdgcn-amd-amdhsa--gfx942:xnack-".
std::string arch_of_target(std::string_view target);

}  // namespace assay::occupancy
