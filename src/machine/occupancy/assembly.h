// AMD assembly text, including the metadata that compilers append.
#pragma once

#include "core/result.h"
#include "machine/occupancy/image.h"

namespace assay::occupancy {

bool is_amd_assembly(std::string_view text);
/// Error: usage.
Result<CodeImage> read_amd_assembly(std::string_view text);

}  // namespace assay::occupancy
