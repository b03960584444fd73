// Reads what PTX declares about its kernels. Registers are known only after ptxas has allocated
// them.
#pragma once

#include "advise/occupancy/image.h"
#include "core/result.h"

namespace assay::occupancy {

/// Returns whether `text` begins as PTX does, with .version, .target and .address_size.
bool is_ptx(std::string_view text);
/// Reads PTX up to a zero byte. A shared variable outside of kernels counts for each of them.
/// Error: usage if it has no kernel.
Result<CodeImage> read_ptx(std::string_view text);

/// Fills in what `ptxas -v` reports for the kernels; `image` must be PTX and gets the architecture
/// `arch`. An empty `arch` means the PTX's own. Error: unavailable without ptxas, naming the places
/// searched; failed with its message; as apply_ptxas_report().
Status complete_by_ptxas(CodeImage& image, std::string_view arch);

/// Applies a report of `ptxas -v` to all kernels that it names. Error: failed if it does not name
/// one of them.
Status apply_ptxas_report(std::string_view report, CodeImage& image);

}  // namespace assay::occupancy
