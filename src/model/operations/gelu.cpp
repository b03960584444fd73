#include "model/operations/gelu.h"

namespace assay {

Result<Gelu> Gelu::create(Device& device, DataType type) {
  Gelu made(device.facts(), TRY(Kernels::build(device, "gelu", type)));
  made.gelu_ = TRY(made.kernels_.of_type("gelu"));
  made.gelu_backward_ = TRY(made.kernels_.of_type("gelu_backward"));
  return made;
}

Status Gelu::forward(Stream& stream, void* y, const void* x, std::int64_t elements) {
  return launch(stream, *gelu_, shape_of_elements(*facts_, elements), y, x,
                std::uint64_t(elements));
}

Status Gelu::backward(Stream& stream, void* d, const void* x, std::int64_t elements) {
  return launch(stream, *gelu_backward_, shape_of_elements(*facts_, elements), d, x,
                std::uint64_t(elements));
}

}  // namespace assay
