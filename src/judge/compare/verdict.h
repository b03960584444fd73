// Derives a verdict from a paired effect. The rule and its measured error rates: docs/method.md.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "statistics/paired.h"

namespace assay {

enum class Verdict {
  equal,         ///< proven to be within the margin
  faster,        ///< B is proven to be better by more than the margin
  slower,        ///< B is proven to be worse by more than the margin
  shifted,       ///< proven to differ, but not proven to be beyond the margin
  inconclusive,  ///< nothing is proven
  unstable,      ///< not proven to differ, but several pairs are outliers
  invalid,       ///< the data cannot be judged
};
constexpr std::size_t verdict_count = 7;
/// Returns the verdict in capitals: "EQUAL", "FASTER", ...
std::string_view name_of(Verdict verdict);

struct VerdictRule {
  double margin = 0.02;  ///< ratios within (1 / (1 + margin), 1 + margin) are equal
  double alpha = 0.05;   ///< probability of a false EQUAL, and of any false difference

  double log_margin() const;
  /// Returns how many random draws of the pairs' order a proof of a difference needs: at least
  /// least_units, and enough that one of all flips of signs has at most the probability alpha / 2.
  std::size_t least_draws() const;
};

/// The result of the control, A against A': the same thing measured twice in the same blocks.
enum class Control {
  off,        ///< not part of the plan
  too_short,  ///< fewer pairs than least_units, or no degree of freedom
  quiet,
  moved,  ///< the order or the time of a measurement makes a difference by itself
};
/// Returns the name: "off", "too_short", "quiet" or "moved".
std::string_view name_of(Control control);

/// The tests of one comparison's mean; p-values are adjusted for all comparisons judged together.
struct FamilyTest {
  std::size_t cells = 1;  ///< number of cells judged together, each as often as it has metrics
  /// How many more pairs are needed until enough random draws of their order exist to prove a
  /// difference; 0: there are enough.
  std::size_t pairs_short = 0;
  double p_different = 1;  ///< p that the mean is 0, adjusted for all cells
  /// p that the mean lies at the margin; one-sided, adjusted; 1 if not tested.
  double p_slower = 1, p_faster = 1;
};

/// Returns moved if the interval of 1 - 0.01 / `cells` coverage lies beyond a quarter of the
/// margin. (A test of difference at 5% would void one sound campaign in twenty; this one voids
/// almost none and still detects a bias as large as the margin.)
Control judge_control(const PairedEffect& control, const VerdictRule& rule, std::size_t cells = 1);

/// Returns how many outlying pairs make one of `cells` cells UNSTABLE: 2, and one more for each
/// factor of nine in `cells`. bench_family_rates simulates how often this happens to equal cells.
std::size_t unstable_outliers(std::size_t cells);

struct Ruling {
  Verdict verdict = Verdict::inconclusive;
  std::string code;  ///< stable: "within_margin", "too_few_units", ... (docs/schema.md lists them)
  std::string reason;          ///< one sentence for people
  std::size_t more_pairs = 0;  ///< estimate of pairs until a decision; 0: unknown or useless
};

/// `effect` is of logarithms of times; positive means slower.
Ruling judge(const PairedEffect& effect, const FamilyTest& test, bool paired, Control control,
             const VerdictRule& rule);

/// Returns the tests of a comparison that is judged alone, by Student's t, without randomly drawn
/// orders of its pairs.
FamilyTest alone(const PairedEffect& effect, const VerdictRule& rule);

/// Returns whether one side is proven to be slower or faster, by any amount.
bool is_different(Verdict verdict);

}  // namespace assay
