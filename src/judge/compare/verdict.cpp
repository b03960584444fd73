#include "judge/compare/verdict.h"

#include <fmt/format.h>

#include <cmath>

#include "core/units.h"
#include "statistics/distributions.h"

namespace assay {
namespace {

bool excludes_zero(const Interval& interval) {
  return interval.low > 0 || interval.high < 0;
}

bool lies_beyond(const Interval& interval, double bound) {
  return interval.low > bound || interval.high < -bound;
}

std::string percent(double log_ratio) {
  return format_percent(std::abs(std::expm1(log_ratio)));
}

std::string direction(double log_ratio) {
  return log_ratio > 0 ? "slower" : "faster";
}

Ruling unstable(const PairedEffect& effect) {
  return {Verdict::unstable, "outlier_units",
          fmt::format("{} of {} pairs are outliers: most pairs agree, some do not",
                      effect.outliers.size(), effect.pairs)};
}

/// Why nothing is proven, and what would help.
Ruling undecided(const PairedEffect& effect, bool paired, const VerdictRule& rule) {
  if (!paired) {
    return {Verdict::inconclusive, "unpaired",
            "the two sides were not measured in turns: drift between them could look the same, so "
            "only a clear difference can be proven"};
  }
  if (effect.outliers.size() >= 2) return unstable(effect);
  const double room = rule.log_margin() - std::abs(effect.mean);
  const std::size_t needed = room > 0 ? values_needed(effect.deviation, room) : std::size_t{0};
  if (needed > effect.n && needed < 10'000) {
    // Where neighbouring pairs depend on each other, two of them make one independent value.
    const std::size_t pairs_per_value = (effect.pairs + effect.n - 1) / effect.n;
    const std::size_t more = (needed - effect.n) * pairs_per_value;
    return {Verdict::inconclusive, "not_precise",
            fmt::format("not enough pairs: at this noise about {} more are needed", more), more};
  }
  return {Verdict::inconclusive, "near_margin",
          "the effect lies too near the margin to be called equal or different"};
}

}  // namespace

double VerdictRule::log_margin() const {
  return std::log1p(margin);
}

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::equal:
      return "EQUAL";
    case Verdict::faster:
      return "FASTER";
    case Verdict::slower:
      return "SLOWER";
    case Verdict::shifted:
      return "SHIFTED";
    case Verdict::inconclusive:
      return "INCONCLUSIVE";
    case Verdict::unstable:
      return "UNSTABLE";
    case Verdict::invalid:
      break;
  }
  return "INVALID";
}

std::string_view name_of(Control control) {
  switch (control) {
    case Control::off:
      return "off";
    case Control::too_short:
      return "too_short";
    case Control::quiet:
      return "quiet";
    case Control::moved:
      break;
  }
  return "moved";
}

Control judge_control(const PairedEffect& control, const VerdictRule& rule) {
  if (control.pairs < least_units || !(control.freedom > 0)) return Control::too_short;
  const double half = student_t_quantile(0.995, control.freedom) * control.error;
  const Interval interval{control.mean - half, control.mean + half};
  return lies_beyond(interval, rule.log_margin() / 4) ? Control::moved : Control::quiet;
}

Ruling judge(const PairedEffect& effect, bool paired, Control control, const VerdictRule& rule) {
  if (control == Control::moved) {
    return {Verdict::invalid, "control_moved",
            "A measured twice differs from itself: the order or time of measuring made a "
            "difference, so this says nothing about B"};
  }
  if (effect.n < least_units) {
    return {Verdict::inconclusive, "too_few_units",
            fmt::format("{} {}{}{}; a verdict needs at least {}", effect.n,
                        paired ? "independent pair" : "run", effect.n == 1 ? "" : "s",
                        paired ? "" : " a side", least_units)};
  }
  const bool signs_agree = !paired || excludes_zero(effect.sign95);
  if (lies_beyond(effect.t95, rule.log_margin()) && signs_agree) {
    return {
        effect.mean > 0 ? Verdict::slower : Verdict::faster, "beyond_margin",
        fmt::format("{} by more than the margin of {:.2g}%{}", direction(effect.mean),
                    100 * rule.margin,
                    paired ? "" : "; UNPAIRED: a drift between the two sides is not controlled")};
  }
  if (effect.p_equal < rule.alpha) {
    if (effect.outliers.size() >= 2) return unstable(effect);
    if (control == Control::too_short) {
      return {Verdict::inconclusive, "control_too_short",
              "the control (A measured twice) has too few pairs to rule out that something else "
              "changed"};
    }
    const bool tiny = excludes_zero(effect.t95) && excludes_zero(effect.sign95);
    return {Verdict::equal, "within_margin",
            tiny ? fmt::format("within the margin; {} {} is real but small", percent(effect.mean),
                               direction(effect.mean))
                 : "within the margin"};
  }
  if (excludes_zero(effect.t95) && signs_agree) {
    return {
        Verdict::shifted, "differs",
        fmt::format("{}, but not proven to be beyond the margin{}", direction(effect.mean),
                    paired ? "" : "; UNPAIRED: a drift between the two sides is not controlled")};
  }
  return undecided(effect, paired, rule);
}

}  // namespace assay
