#include "ranks/collective/communicator_checks.h"

#include <fmt/format.h>

namespace assay {

bool has_host_memory(const Device& device) {
  return device.facts().runs_on_host;
}

std::optional<std::string> no_type_of_memory(DataType type) {
  if (type != DataType::tf32) return std::nullopt;
  return "tf32 is a way to multiply, not a type in memory; choose f32";
}

Status check_supported(const Communicator& communicator, const CollectiveCall& call) {
  if (auto why = communicator.unsupported(call.operation, call.type, call.reduction)) {
    return Error{ErrorKind::unsupported, *std::move(why)};
  }
  return {};
}

Status check_config(const CommunicatorConfig& config) {
  const bool both = config.min_ctas > 0 && config.max_ctas > 0;
  if (config.min_ctas >= 0 && config.max_ctas >= 0 &&
      !(both && config.min_ctas > config.max_ctas)) {
    return {};
  }
  return Error{ErrorKind::usage,
               fmt::format("CTAs from {} to {} are not allowed; allowed: 0 for the library's "
                           "choice, or a least number up to the most",
                           config.min_ctas, config.max_ctas)};
}

}  // namespace assay
