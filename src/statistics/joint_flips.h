// Judges many paired comparisons together, by flipping signs. A pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "statistics/paired_series.h"

namespace assay {

/// How signs are flipped.
struct FlipRule {
  /// Number of consecutive pairs, counted from pair 0, whose order one random draw (coin) decided.
  std::size_t pairs_per_draw = 1;
  std::size_t least_draws = 6;  ///< a series with fewer draws gets 1; at least 2
  std::uint64_t seed = 1;       ///< seed of flips that are too many to enumerate
};

/// Returns for each series the probability, if its mean were `bound` (a log ratio), that any series
/// of the family looks as extreme as it does, in the direction of `alternative`. If the hypothesis
/// is rejected for all series with a value of at most alpha, the probability of any false rejection
/// is at most alpha, however the series depend on each other.
///
/// This is Westfall and Young's (1993) step-down procedure over all flips of the coins. At most
/// 4,096 flips are made; if there are more, they are drawn from the seed. A flip turns the signs of
/// all differences of its coin at once: if the two sides are alike and a coin drew the order, the
/// flipped data are as likely as the observed ones. Each series is measured by -log p of its t,
/// with its own number of differences, so that a series that lacks pairs is treated correctly.
///
/// `dependence` has an autocorrelation for each series, as returned by find_dependence(). Flips
/// ignore it, so the t of a dependent series is reduced to correspondingly fewer independent
/// values.
///
/// The result requires that the differences are symmetric about the bound, which a skewed
/// difference with mean zero is not.
std::vector<double> joint_flip_test(std::span<const PairedSeries> family,
                                    std::span<const double> dependence, Alternative alternative,
                                    double bound, const FlipRule& rule);

}  // namespace assay
