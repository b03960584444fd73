// From a paired effect to a verdict. The rule and its measured error rates: docs/method.md.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "statistics/paired.h"

namespace assay {

enum class Verdict {
  equal,         ///< within the margin, proven
  faster,        ///< B beyond the margin on the good side, proven
  slower,        ///< B beyond the margin on the bad side, proven
  shifted,       ///< different, proven, but not proven to lie beyond the margin
  inconclusive,  ///< nothing proven
  unstable,      ///< not different, but several pairs are outliers
  invalid,       ///< the data cannot be judged
};
constexpr std::size_t verdict_count = 7;
/// "EQUAL", "FASTER", ...
std::string_view name_of(Verdict verdict);

struct VerdictRule {
  double margin = 0.02;  ///< ratios within (1 / (1 + margin), 1 + margin) are equal
  double alpha = 0.05;   ///< chance of a false EQUAL, and of any false difference among all cells

  double log_margin() const;
};

/// The result of the control: A against A', the same thing measured twice in the same blocks.
enum class Control {
  off,        ///< not part of the plan
  too_short,  ///< fewer pairs than least_units
  quiet,
  moved,  ///< the order or time of measuring alone makes a difference
};
/// "off", "too_short", "quiet", "moved"
std::string_view name_of(Control control);

/// The tests of one comparison's mean, among all that are judged together.
struct FamilyTest {
  std::size_t cells = 1;  ///< judged together
  /// How many more pairs it takes until enough coins have drawn their order for a proof of a
  /// difference; 0: there are enough.
  std::size_t pairs_short = 0;
  double p_different = 1;             ///< if the mean is 0; adjusted for all
  double p_slower = 1, p_faster = 1;  ///< if it lies at the margin, one-sided; adjusted for all
};

/// Moved: the interval of 1 - 0.01 / `cells` coverage lies beyond a quarter of the margin. (A test
/// of difference at 5% would void one sound campaign in twenty; this one voids almost none and
/// still detects a bias as large as the margin.)
Control judge_control(const PairedEffect& control, const VerdictRule& rule, std::size_t cells = 1);

/// How many outlying pairs make one of `cells` cells UNSTABLE: 2, and one more for every nine times
/// as many cells. bench_family_rates simulates how often equal cells are.
std::size_t unstable_outliers(std::size_t cells);

struct Ruling {
  Verdict verdict = Verdict::inconclusive;
  std::string code;  ///< stable: "within_margin", "too_few_units", ... (docs/schema.md lists them)
  std::string reason;          ///< one sentence for people
  std::size_t more_pairs = 0;  ///< that would decide, an estimate; 0: unknown, or others are needed
};

/// `effect` is of logarithms of times: positive means slower.
Ruling judge(const PairedEffect& effect, const FamilyTest& test, bool paired, Control control,
             const VerdictRule& rule);

/// The tests of a comparison that is judged alone, by Student's t, without a coin that drew the
/// order of its pairs.
FamilyTest alone(const PairedEffect& effect, const VerdictRule& rule);

/// Whether it is proven that one side is slower or faster, by how much ever.
bool is_different(Verdict verdict);

}  // namespace assay
