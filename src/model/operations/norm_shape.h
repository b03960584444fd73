// Launch geometry of norms, whose blocks hold a row in their registers (kernels/norm.cu).
#pragma once

#include "compute/device/device.h"
#include "model/operations/column_sums.h"

namespace assay {

/// Error: unsupported if rows of `width` elements are too wide for a block.
Status validate_norm(std::int64_t width);

/// `blocks` blocks for rows of `width` elements.
LaunchShape norm_shape(const DeviceFacts& facts, std::uint64_t blocks, std::int64_t width);
/// A block per row; on a CPU one per core.
LaunchShape norm_shape(const DeviceFacts& facts, Rows rows);

}  // namespace assay
