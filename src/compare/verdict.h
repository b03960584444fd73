// From a paired effect to a verdict. The rule and its measured error rates: docs/method.md.
#pragma once

#include <optional>
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
  unstable,      ///< would be equal, but several units are outliers
  invalid,       ///< the data cannot be judged
};
std::string_view name_of(Verdict verdict);

struct VerdictRule {
  double margin = 0.02;  ///< a ratio in (1 / (1 + margin), 1 + margin) is equal
  double alpha = 0.05;
  std::size_t least_units = 6;  ///< pairs, below which nothing is judged
};

/// The difference between A and A', which measure the same thing in the same blocks.
enum class Control { absent, quiet, moved };
std::string_view name_of(Control control);

/// Moved: its 99% interval lies beyond a quarter of the margin, so that the order or the time of
/// measuring alone makes a difference.
Control judge_control(const PairedEffect& control, const VerdictRule& rule);

struct Judgement {
  Verdict verdict = Verdict::inconclusive;
  std::string code;    ///< stable, e.g. "too_few_units", "intervals_within_margin"
  std::string reason;  ///< one sentence for people
};

/// `effect` is of times: positive is slower.
Judgement judge(const PairedEffect& effect, bool paired, Control control, const VerdictRule& rule);

}  // namespace assay
