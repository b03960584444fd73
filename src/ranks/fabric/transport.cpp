#include "ranks/fabric/transport.h"

namespace assay {

std::string_view name_of(FabricOperation operation) {
  switch (operation) {
    case FabricOperation::write:
      return "write";
    case FabricOperation::read:
      return "read";
    case FabricOperation::send:
      break;
  }
  return "send";
}

}  // namespace assay
