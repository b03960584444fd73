#include "model/operations/rms_norm.h"

#include "model/operations/norm_shape.h"

namespace assay {

Result<RmsNorm> RmsNorm::create(Device& device, DataType type, double epsilon) {
  RmsNorm made(device.facts(), TRY(Kernels::build(device, "norm", type)), epsilon);
  made.add_rms_norm_ = TRY(made.kernels_.of_type("add_rms_norm"));
  return made;
}

Status RmsNorm::forward(Stream& on, void* normed, void* stream, const void* branch,
                        const void* weight, Rows rows) {
  return launch(on, *add_rms_norm_, norm_shape(*facts_, rows), {.programmatic = true}, normed,
                stream, stream, branch, weight, std::uint64_t(rows.rows), std::uint64_t(rows.width),
                epsilon_);
}

}  // namespace assay
