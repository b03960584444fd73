// Reads AMD assembly text. The metadata that compilers append to it describe its kernels.
#pragma once

#include "advise/occupancy/image.h"
#include "core/result.h"

namespace assay::occupancy {

/// Returns whether `text` contains the directive .amdgpu_metadata and no null byte.
bool is_amd_assembly(std::string_view text);
/// Reads all kernels of a text for which is_amd_assembly() is true. Error: usage if the metadata
/// are cut off or malformed.
Result<CodeImage> read_amd_assembly(std::string_view text);

}  // namespace assay::occupancy
