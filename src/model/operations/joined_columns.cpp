#include "model/operations/joined_columns.h"

namespace assay {

Result<JoinedColumns> JoinedColumns::create(Device& device, DataType type) {
  JoinedColumns made(device.facts(), TRY(Kernels::build(device, "joined_columns", type)));
  made.join_columns_ = TRY(made.kernels_.of_type("join_columns"));
  return made;
}

Status JoinedColumns::forward(Stream& stream, void* y, const void* x, std::int64_t parts,
                              std::int64_t rows, std::int64_t width) {
  return launch(stream, *join_columns_, shape_of_elements(*facts_, parts * rows * width), y, x,
                std::uint64_t(parts), std::uint64_t(rows), std::uint64_t(width));
}

}  // namespace assay
