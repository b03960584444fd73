// Many paired comparisons judged together, by flipping signs. A pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "statistics/paired_series.h"

namespace assay {

/// How signs are flipped.
struct FlipRule {
  /// The number of consecutive pairs, from a multiple of it on, whose order one coin drew.
  std::size_t pairs_per_draw = 1;
  std::size_t least_draws = 6;  ///< a series with fewer proves nothing
  std::uint64_t seed = 1;       ///< of flips, where there are too many to make all
};

/// For each series the probability, if its mean were `bound`, that any series of the family looks
/// as extreme as it does: rejecting all whose value is at most alpha makes a false rejection
/// anywhere in at most a share alpha of cases, whatever the series have to do with each other.
///
/// Westfall and Young's (1993) step-down procedure over all flips of the coins, at most 4,096 of
/// which are made, drawn from the seed where there are more. A flip turns the signs of all
/// differences of its coin at once: if the two sides are alike and a coin drew the order, the
/// flipped data are as likely as those at hand. Each series is measured by -log p of its t, with
/// its own number of differences, so that one which lacks pairs takes part by its own measure.
///
/// `dependence` has an autocorrelation for each series, as find_dependence() gives it. Flips know
/// nothing of it: the t of a series that has one counts for as much as that many fewer independent
/// values.
///
/// It holds where the differences are symmetric about the bound: a skewed difference with mean zero
/// is not.
std::vector<double> joint_flip_test(std::span<const PairedSeries> family,
                                    std::span<const double> dependence, Alternative alternative,
                                    double bound, const FlipRule& rule);

}  // namespace assay
