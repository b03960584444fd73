#include "compute/device/device.h"

#include <fmt/format.h>
#include <unistd.h>

namespace assay {

Error wrong_arguments(const Kernel& kernel, std::span<const unsigned> bytes) {
  return {ErrorKind::failed,
          fmt::format("arguments of {} bytes given to a kernel with parameters of {} bytes",
                      fmt::join(bytes, ", "), fmt::join(kernel.parameter_bytes(), ", "))};
}

DmaBuf::~DmaBuf() {
  if (file >= 0) ::close(file);
}

}  // namespace assay
