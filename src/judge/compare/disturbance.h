// How much of the CPUs' time other programs took while something was measured. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

/// What a disturbance means for a comparison.
constexpr std::string_view quieter_proves_more = "on a quieter machine, fewer pairs prove more";

struct Disturbance {
  double most = 0;            ///< largest share of the CPUs' time that others took
  std::size_t disturbed = 0;  ///< how many took more than `much_taken`
  std::size_t watched = 0;    ///< how many are known

  void add(double taken);
  void add(const Disturbance& other);
};

/// Returns "other programs and the hypervisor used up to 81% of the CPUs' time in 14 of 40 units";
/// empty if they used little, or if it is not known. `things` names what was watched, in the
/// plural: "units".
std::string used_by_others(const Disturbance& disturbance, std::string_view things);

}  // namespace assay
