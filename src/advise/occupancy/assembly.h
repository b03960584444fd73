// AMD assembly text, including the metadata that compilers append.
#pragma once

#include "advise/occupancy/image.h"
#include "core/result.h"

namespace assay::occupancy {

bool is_amd_assembly(std::string_view text);
/// Reads AMD assembly. Error: usage if its metadata is missing or malformed.
Result<CodeImage> read_amd_assembly(std::string_view text);

}  // namespace assay::occupancy
