#include "compute/vendor/blas/matrix_fill.h"

#include <string>

#include "compute/device/helpers.h"

namespace assay {

Status fill_matrix(Stream& stream, const DeviceFacts& facts, Program& program, void* matrix,
                   DataType type, const MatrixExtent& extent, Inputs inputs, std::uint64_t seed,
                   double factor, std::optional<PartOfMatrix> part) {
  const DataType stored = type == DataType::tf32 ? DataType::f32 : type;
  Kernel* fill = TRY(program.kernel("fill_" + std::string(name_of(stored))));
  const double scale = inputs == Inputs::normal && type == DataType::i8 ? 32 * factor : factor;
  const std::uint64_t columns = static_cast<std::uint64_t>(extent.columns);
  const PartOfMatrix numbers = part.value_or(PartOfMatrix{0, columns});
  return launch(stream, *fill, filling_shape(facts), matrix,
                static_cast<std::uint64_t>(extent.rows), columns,
                static_cast<std::uint64_t>(extent.ld), numbers.first, numbers.pitch, seed,
                static_cast<int>(inputs), static_cast<float>(scale));
}

}  // namespace assay
