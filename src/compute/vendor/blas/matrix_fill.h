// Fills matrices for measurements with numbers from which a result can be checked.
#pragma once

#include <cstdint>
#include <optional>

#include "compute/device/device.h"
#include "core/data_type.h"
#include "core/result.h"

namespace assay {

/// Listed in the order of `enum Pattern` in src/compute/kernels/matrix.cu. `integers` are -2 to 2,
/// equally likely. `normal` is nearly the standard normal distribution; for i8 it is multiplied by
/// 32, to use most of the type's range.
enum class Inputs { zeros, ones, integers, normal };

/// A row-major matrix whose rows are `ld` elements apart.
struct MatrixExtent {
  std::int64_t rows = 0, columns = 0, ld = 0;
};

/// Describes a matrix as part of a larger one: its first number is number `first` of the larger
/// matrix, counted along its rows, which have `pitch` numbers.
struct PartOfMatrix {
  std::uint64_t first = 0, pitch = 0;
};

/// Queues filling the matrix with numbers generated from `seed`, times `factor`. If the matrix is
/// part of a larger one, it gets the larger one's numbers. `program` is built from matrix.cu.
Status fill_matrix(Stream& stream, const DeviceFacts& facts, Program& program, void* matrix,
                   DataType type, const MatrixExtent& extent, Inputs inputs, std::uint64_t seed,
                   double factor = 1, std::optional<PartOfMatrix> part = std::nullopt);

}  // namespace assay
