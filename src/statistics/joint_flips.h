// Many paired comparisons judged together, by flipping signs. A pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace assay {

/// The differences of one comparison, B minus A in pairs that were measured side by side. The order
/// within each pair was drawn by a coin; `coins[i]` says which one belongs to `differences[i]`.
/// Several comparisons share coins, and a comparison may lack some.
struct FlippedSeries {
  std::vector<std::size_t> coins;
  std::vector<double> differences;
};

/// What is asked of each comparison's mean.
enum class Flips {
  either,  ///< whether it differs from the bound, on either side
  above,   ///< whether it lies above the bound
  below,   ///< whether it lies below
};

/// For each comparison the probability, if its mean were `bound`, that any comparison of the family
/// looks as extreme as it does: rejecting all whose value is at most alpha makes a false rejection
/// anywhere in at most a share alpha of cases, whatever the comparisons have to do with each other.
///
/// Westfall and Young's (1993) step-down procedure over all flips of the coins, at most 4,096 of
/// which are made, drawn from `seed` where there are more. A flip turns the signs of all
/// differences of its coins at once: if the two sides are alike and a coin drew the order, the
/// flipped data are as likely as those at hand. Each comparison is measured by -log p of its t,
/// with its own number of differences, so that one which lacks pairs takes part by its own measure.
/// The value is 1 for comparisons with fewer than `least` coins.
///
/// It holds where the differences are symmetric about the bound: a skewed difference with mean zero
/// is not.
std::vector<double> joint_flip_test(std::span<const FlippedSeries> family, Flips side, double bound,
                                    std::size_t least, std::uint64_t seed);

}  // namespace assay
