// How much of the CPUs' time other programs and the hypervisor took during measurements. Pure
// functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

/// The advice that follows used_by_others() in messages about comparisons. A pair is one
/// measurement of each side, one after the other.
constexpr std::string_view quieter_proves_more =
    "on a quieter machine, fewer pairs would be enough";

/// Summary of the shares of all CPUs' time, 0 to 1, that others took. The caller adds a share for
/// each unit, cell or run for which it is known.
struct Disturbance {
  double most = 0;            ///< the largest share
  std::size_t disturbed = 0;  ///< shares above `much_taken` (machine/telemetry/summary.h)
  std::size_t watched = 0;    ///< all shares

  /// Adds a share, such as one that taken_by_others() returns (machine/telemetry/summary.h).
  void add(double taken);
  /// Adds the shares that `other` was given.
  void add(const Disturbance& other);
};

/// Returns "other programs and the hypervisor used up to 81% of the CPUs' time in 14 of 40 units";
/// empty if no share is above `much_taken`, 10%, or none was added. `things` names what was
/// watched, in the plural: "units".
std::string used_by_others(const Disturbance& disturbance, std::string_view things);

}  // namespace assay
