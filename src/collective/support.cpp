#include "collective/support.h"

namespace assay {

bool has_host_memory(const Device& device) {
  return device.facts().backend == "cpu" || device.facts().backend == "fake";
}

std::optional<std::string> no_type_of_memory(DataType type) {
  if (type != DataType::tf32) return std::nullopt;
  return "tf32 is a way to multiply, not to store; choose f32";
}

Status check_supported(const Communicator& communicator, const CollectiveCall& call) {
  if (auto why = communicator.unsupported(call.operation, call.type, call.reduction)) {
    return Error{ErrorKind::unsupported, *std::move(why)};
  }
  return {};
}

}  // namespace assay
