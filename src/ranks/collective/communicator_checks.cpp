#include "ranks/collective/communicator_checks.h"

#include <fmt/format.h>

#include "core/shown_text.h"
#include "ranks/team/agreement.h"

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

Result<std::vector<std::string>> exchange_or_fail(Team& team, std::string_view step,
                                                  Result<std::string> mine) {
  std::vector<std::string> all =
      TRY(team.exchange(step, mine.ok() ? "+" + *mine : "-" + mine.error().message));
  if (!mine.ok()) return mine.error();
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    std::string& text = all[rank];
    const bool made = text.starts_with('+');
    text.erase(0, 1);
    if (made) continue;
    return Error{ErrorKind::unavailable, fmt::format("{}: {}", name_of(team.members()[rank]),
                                                     shown_line(text, most_message))};
  }
  return all;
}

}  // namespace assay
