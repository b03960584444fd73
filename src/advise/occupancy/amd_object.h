// Reads AMD code objects: ELF files in which a note, a map in MessagePack, describes the kernels.
#pragma once

#include "advise/occupancy/image.h"
#include "core/json_fwd.h"
#include "core/result.h"
#include "machine/code_object/elf.h"

namespace assay::occupancy {

/// Reads an AMD code object; `file` is the whole object, and `elf` what read_elf() made of it.
/// Error: usage if the metadata of its kernels is missing or malformed.
Result<CodeImage> read_amd_object(Bytes file, const Elf& elf);

/// Converts one kernel's metadata, an element of "amdhsa.kernels" in a note or in assembly. Error:
/// usage, naming the field that is missing, not a number or too large.
Result<KernelUse> kernel_of_metadata(const SortedJson& kernel);

/// Returns the architecture in a target (CodeImage::target): "gfx942" in
/// "amdgcn-amd-amdhsa--gfx942:xnack-". Without "--" it is the text before the first colon.
std::string arch_of_target(std::string_view target);

}  // namespace assay::occupancy
