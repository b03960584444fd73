// How much of the CPUs' time other programs and the hypervisor took during measurements. Pure
// functions.
#pragma once

#include <cstddef>
#include <map>
#include <set>
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

/// The share of all CPUs' time, 0 to 1, that others took in each unit of a side, by its pair. Units
/// for which it is unknown are missing.
using TakenByPair = std::map<std::size_t, double>;

/// The pairs that are not judged, because others disturbed them.
struct DisturbedPairs {
  std::set<std::size_t> left_out;  ///< numbers of pairs
  std::string note;  ///< says what is left out, or why nothing is; empty if nothing was disturbed
};

/// Chooses the pairs of A and B in one of whose units others took more than `much_taken` of the
/// CPUs' time. Values take no part in the choice, and it is the same with A and B exchanged, so
/// tests that exchange A and B within pairs keep their error rates (docs/method.md). Nothing is
/// left out if fewer than least_units (statistics/paired.h) pairs would remain, or if the units of
/// one side are disturbed so much more often than those of the other (two-sided sign test at 5%)
/// that the disturbance may belong to it.
DisturbedPairs disturbed_pairs(const TakenByPair& a, const TakenByPair& b);

}  // namespace assay
