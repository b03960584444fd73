#include "compute/device/device.h"

#include <unistd.h>

namespace assay {

DmaBuf::~DmaBuf() {
  if (file >= 0) ::close(file);
}

}  // namespace assay
