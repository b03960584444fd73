// AMD code objects: ELF files whose note describes their kernels.
#pragma once

#include "core/json.h"
#include "core/result.h"
#include "machine/occupancy/elf.h"
#include "machine/occupancy/image.h"

namespace assay::occupancy {

/// `file` is the whole object. Error: usage.
Result<CodeImage> read_amd_object(Bytes file, const Elf& elf);

/// One kernel of the metadata, whether a note or assembly text holds it. Error: usage, naming the
/// field that is missing or no number.
Result<KernelUse> kernel_of_metadata(const SortedJson& kernel);

/// "amdgcn-amd-amdhsa--gfx942:xnack-" gives "gfx942".
std::string arch_of_target(std::string_view target);

}  // namespace assay::occupancy
