#include "judge/compare/disturbance.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"
#include "machine/telemetry/summary.h"

namespace assay {

void Disturbance::add(double taken) {
  most = std::max(most, taken);
  disturbed += taken > much_taken ? 1 : 0;
  ++watched;
}

void Disturbance::add(const Disturbance& other) {
  most = std::max(most, other.most);
  disturbed += other.disturbed;
  watched += other.watched;
}

std::string used_by_others(const Disturbance& disturbance, std::string_view things) {
  if (disturbance.disturbed == 0) return {};
  return fmt::format(
      "other programs and the hypervisor used up to {} of the CPUs' time in {} of {} {}",
      format_share(disturbance.most), disturbance.disturbed, disturbance.watched, things);
}

}  // namespace assay
