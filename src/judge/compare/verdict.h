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
  double alpha = 0.05;   ///< chance of a false EQUAL, and of a false difference

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

/// Moved: the 99% interval lies beyond a quarter of the margin. (A test of difference at 5% would
/// void one sound campaign in twenty; this one voids almost none and still detects a bias as large
/// as the margin.)
Control judge_control(const PairedEffect& control, const VerdictRule& rule);

struct Ruling {
  Verdict verdict = Verdict::inconclusive;
  std::string code;  ///< stable: "within_margin", "too_few_units", ... (docs/schema.md lists them)
  std::string reason;          ///< one sentence for people
  std::size_t more_pairs = 0;  ///< that would decide, an estimate; 0: unknown, or others are needed
};

/// `effect` is of logarithms of times: positive means slower.
Ruling judge(const PairedEffect& effect, bool paired, Control control, const VerdictRule& rule);

}  // namespace assay
