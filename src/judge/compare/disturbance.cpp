#include "judge/compare/disturbance.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"
#include "machine/telemetry/summary.h"
#include "statistics/distributions.h"
#include "statistics/paired.h"

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

DisturbedPairs disturbed_pairs(const TakenByPair& a, const TakenByPair& b) {
  DisturbedPairs chosen;
  std::size_t pairs = 0, a_alone = 0, b_alone = 0;
  for (const auto& [pair, taken] : a) {
    const auto other = b.find(pair);
    if (other == b.end()) continue;
    ++pairs;
    const bool in_a = taken > much_taken, in_b = other->second > much_taken;
    if (in_a && !in_b) ++a_alone;
    if (in_b && !in_a) ++b_alone;
    if (in_a || in_b) chosen.left_out.insert(pair);
  }
  if (chosen.left_out.empty()) return chosen;
  const std::string what = fmt::format(
      "{} of {} pairs were disturbed: other programs and the hypervisor took more than "
      "{} of the CPUs' time in one of their units",
      chosen.left_out.size(), pairs, format_share(much_taken));
  const std::size_t unequal = a_alone + b_alone;
  constexpr double alpha = 0.05;
  if (unequal > 0 && 2 * coin_cdf(std::min(a_alone, b_alone), unequal) <= alpha) {
    chosen.note = fmt::format(
        "{}, {} times of A alone and {} times of B alone; they are judged "
        "with the others, because the disturbance may belong to {}",
        what, a_alone, b_alone, a_alone > b_alone ? "A" : "B");
    chosen.left_out.clear();
  } else if (pairs - chosen.left_out.size() < least_units) {
    chosen.note = fmt::format(
        "{}; they are judged with the others, because fewer than {} pairs "
        "would remain",
        what, least_units);
    chosen.left_out.clear();
  } else {
    chosen.note = what + "; they are left out";
  }
  return chosen;
}

}  // namespace assay
