// Contents of matrices for measurements: numbers from which a result can be checked.
#pragma once

#include <cstdint>
#include <optional>

#include "compute/device/device.h"
#include "core/data_type.h"
#include "core/result.h"

namespace assay {

/// In the order of `enum Pattern` in src/compute/kernels/matrix.cu. `normal`: the standard normal
/// distribution, times 32 for i8, to use most of its range.
enum class Inputs { zeros, ones, integers, normal };

/// A row-major matrix whose rows are `ld` elements apart.
struct MatrixExtent {
  std::int64_t rows = 0, columns = 0, ld = 0;
};

/// A matrix as part of a larger one: it begins with number `first` of that, whose rows have
/// `pitch`.
struct PartOfMatrix {
  std::uint64_t first = 0, pitch = 0;
};

/// Queues filling the matrix with numbers generated from `seed`, times `factor`; those of the
/// larger matrix that it is a part of, if it is one. `program` is built from matrix.cu.
Status fill_matrix(Stream& stream, const DeviceFacts& facts, Program& program, void* matrix,
                   DataType type, const MatrixExtent& extent, Inputs inputs, std::uint64_t seed,
                   double factor = 1, std::optional<PartOfMatrix> part = std::nullopt);

}  // namespace assay
