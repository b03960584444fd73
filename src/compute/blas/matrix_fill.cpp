#include "compute/blas/matrix_fill.h"

#include <string>

#include "compute/device/helpers.h"

namespace assay {

Status fill_matrix(Stream& stream, const DeviceFacts& facts, Program& program, void* matrix,
                   DataType type, const MatrixExtent& extent, Inputs inputs, std::uint64_t seed,
                   double factor) {
  const DataType stored = type == DataType::tf32 ? DataType::f32 : type;
  Kernel* fill = TRY(program.kernel("fill_" + std::string(name_of(stored))));
  const double scale = inputs == Inputs::normal && type == DataType::i8 ? 32 * factor : factor;
  return launch(stream, *fill, filling_shape(facts), matrix,
                static_cast<std::uint64_t>(extent.rows), static_cast<std::uint64_t>(extent.columns),
                static_cast<std::uint64_t>(extent.ld), seed, static_cast<int>(inputs),
                static_cast<float>(scale));
}

}  // namespace assay
