// AMD assembly text, including the metadata that compilers append.
#pragma once

#include "advise/occupancy/image.h"
#include "core/result.h"

namespace assay::occupancy {

/// Returns whether `text` is text with the directive .amdgpu_metadata.
bool is_amd_assembly(std::string_view text);
/// Reads a text for which is_amd_assembly() is true. Error: usage if its metadata is cut off or
/// malformed.
Result<CodeImage> read_amd_assembly(std::string_view text);

}  // namespace assay::occupancy
