// Makes dialect.cu a kernel file of the program it is linked into.
#include "compute/device/kernel_source.h"

namespace assay {

const std::vector<EmbeddedFile>& embedded_dialect();

namespace {

const KernelFileRegistry::Add added{embedded_dialect().front()};

}  // namespace
}  // namespace assay
