// Contents of matrices for measuring: numbers that a result can be checked from.
#pragma once

#include <cstdint>

#include "compute/device/device.h"
#include "core/data_type.h"
#include "core/result.h"

namespace assay {

/// In the order of `enum Pattern` in src/compute/kernels/matrix.cu. `normal`: the standard normal
/// distribution, of i8 32 times that, so that they use most of its range.
enum class Inputs { zeros, ones, integers, normal };

/// A row-major matrix whose rows lie `ld` elements apart.
struct MatrixExtent {
  std::int64_t rows = 0, columns = 0, ld = 0;
};

/// Queues filling it with numbers made from `seed`. `program` is that of matrix.cu.
Status fill_matrix(Stream& stream, const DeviceFacts& facts, Program& program, void* matrix,
                   DataType type, const MatrixExtent& extent, Inputs inputs, std::uint64_t seed);

}  // namespace assay
