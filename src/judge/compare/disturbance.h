// How much of the CPUs' time other programs and the hypervisor took during measurements. Pure
// functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

/// The advice that follows used_by_others() in messages about comparisons.
constexpr std::string_view quieter_proves_more = "on a quieter machine, fewer pairs prove more";

struct Disturbance {
  double most = 0;            ///< largest share (0 to 1) that add() was given
  std::size_t disturbed = 0;  ///< units, cells or runs that lost more than `much_taken`
  std::size_t watched = 0;    ///< units, cells or runs whose share is known

  /// `taken`: the share that one unit, cell or run lost, as taken_by_others()
  /// (machine/telemetry/summary.h).
  void add(double taken);
  void add(const Disturbance& other);
};

/// Returns "other programs and the hypervisor used up to 81% of the CPUs' time in 14 of 40 units";
/// empty if they used little, or if it is not known. `things` names what was watched, in the
/// plural: "units".
std::string used_by_others(const Disturbance& disturbance, std::string_view things);

}  // namespace assay
