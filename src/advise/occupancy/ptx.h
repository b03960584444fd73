// Reads what PTX declares about its kernels. Registers are known only after ptxas has allocated
// them.
#pragma once

#include "advise/occupancy/image.h"
#include "core/result.h"

namespace assay::occupancy {

bool is_ptx(std::string_view text);
/// Reads PTX. Error: usage if it has no kernel.
Result<CodeImage> read_ptx(std::string_view text);

/// Fills in what `ptxas -v` reports for the kernels; `image` must be PTX. An empty `arch` means the
/// PTX's own. Error: unavailable without ptxas, naming the places searched; failed with its
/// message.
Status complete_by_ptxas(CodeImage& image, std::string_view arch);

/// Applies a report of `ptxas -v` to all kernels that it names.
Status apply_ptxas_report(std::string_view report, CodeImage& image);

}  // namespace assay::occupancy
