#include "judge/compare/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/units.h"
#include "statistics/distributions.h"

namespace assay {
namespace {

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

std::string pairs_text(std::size_t more) {
  return fmt::format("{} more pair{}", more, more == 1 ? "" : "s");
}

constexpr std::size_t too_many = 10'000;  // nobody measures this many pairs

/// Estimates how many more pairs would prove that the mean is on its side of a bound at distance
/// `distance`, with the noise of the pairs so far. Empty if there are too many.
std::optional<std::size_t> more_pairs(const PairedEffect& effect, double distance) {
  const std::size_t needed = values_needed(effect.deviation, distance);
  if (needed >= too_many) return std::nullopt;
  const double pairs_per_value = static_cast<double>(effect.pairs) / effect.n;
  const double more = (static_cast<double>(needed) - effect.n) * pairs_per_value;
  // Some more pairs are needed even if the estimate says that there are enough, because nothing is
  // proven yet.
  return std::max<std::size_t>(2, static_cast<std::size_t>(std::ceil(std::max(0.0, more))));
}

/// The ruling for a difference that too few random draws can prove.
Ruling too_few_draws(const PairedEffect& effect, const FamilyTest& test) {
  return {
      Verdict::inconclusive, "too_few_draws",
      fmt::format("it looks {}, but the order of its pairs was drawn too few times for a proof: "
                  "{} would allow one",
                  direction(effect.mean), pairs_text(test.pairs_short)),
      test.pairs_short};
}

/// The ruling "cannot tell: ..." for sides that drift by themselves.
Ruling drifting(const PairedEffect& effect, const FamilyTest& test, const VerdictRule& rule) {
  if (lies_beyond(effect.t95, rule.log_margin())) {
    if (test.pairs_short > 0) return too_few_draws(effect, test);
    return {effect.mean > 0 ? Verdict::slower : Verdict::faster, "beyond_margin_and_drift",
            fmt::format("{} by more than the margin of {:.2g}%, far beyond what the sides drift by "
                        "themselves",
                        direction(effect.mean), 100 * rule.margin)};
  }
  const double apart = std::max(rule.log_margin(), std::abs(effect.mean));
  // This lasts until there are as many independent values as a verdict needs, and enough for this
  // distance.
  const double pairs = static_cast<double>(effect.pairs);
  const double missing = pairs * (static_cast<double>(least_units) / effect.n - 1);
  const std::size_t more = std::max(more_pairs(effect, apart).value_or(too_many),
                                    static_cast<std::size_t>(std::ceil(std::max(0.0, missing))));
  return {Verdict::inconclusive, "sides_drift",
          fmt::format("cannot tell: the sides drift by themselves (neighbouring pairs correlate by "
                      "{:.2f}); {}, further apart in time, may tell",
                      effect.dependence,
                      more < too_many ? "about " + pairs_text(more) : "many more pairs"),
          more < too_many ? more : 0};
}

/// Returns what is missing for a proof that the mean differs from 0, if it looks different by
/// itself.
std::optional<Ruling> nearly_different(const PairedEffect& effect, const FamilyTest& test,
                                       const VerdictRule& rule) {
  if (!excludes_zero(effect.t95) || !excludes_zero(effect.sign95)) return std::nullopt;
  if (test.pairs_short > 0) return too_few_draws(effect, test);
  if (test.cells < 2) return std::nullopt;
  // This is the normal test with Bonferroni's correction for `cells` cells and 90% power.
  const double z =
      normal_quantile(1 - rule.alpha / 2 / static_cast<double>(test.cells)) + normal_quantile(0.9);
  const double spread = z * effect.deviation / std::abs(effect.mean);
  const double missing = spread * spread - effect.n;
  const std::size_t more =
      std::max<std::size_t>(2, static_cast<std::size_t>(std::ceil(std::clamp(missing, 0.0, 1e6))));
  return Ruling{
      Verdict::inconclusive, "one_of_many",
      fmt::format("it looks {}, but one of {} cells may look so by chance: about {} would "
                  "prove it",
                  direction(effect.mean), test.cells, pairs_text(more)),
      more};
}

/// Returns why nothing is proven, and what would help.
Ruling undecided(const PairedEffect& effect, const FamilyTest& test, bool paired,
                 const VerdictRule& rule) {
  if (!paired) {
    return {Verdict::inconclusive, "unpaired",
            "the two sides were not measured in turns: drift between them could look the same, so "
            "only a clear difference can be proven"};
  }
  if (effect.outliers.size() >= unstable_outliers(test.cells)) return unstable(effect);
  if (auto ruling = nearly_different(effect, test, rule)) return *std::move(ruling);
  const double margin = rule.log_margin();
  const double distance = std::abs(margin - std::abs(effect.mean));
  const auto more = more_pairs(effect, distance);
  // An interval much wider than the margin is not near it, wherever its middle happens to lie.
  const bool narrow = effect.t95.high - effect.t95.low < 4 * margin;
  if (!more && narrow && distance < margin / 4) {
    return {Verdict::inconclusive, "near_margin",
            "the difference lies too near the margin to be called equal or different"};
  }
  if (!more) {
    return {Verdict::inconclusive, "too_noisy",
            fmt::format("its pairs differ too much from each other: more than {} would be needed",
                        too_many)};
  }
  const bool within = effect.t95.low > -margin && effect.t95.high < margin;
  return {Verdict::inconclusive, "not_precise",
          within ? fmt::format("equal by its interval, but not yet by the tests that allow for "
                               "skewed times: about {} would probably do",
                               pairs_text(*more))
                 : fmt::format("not enough pairs: at this noise about {} {} needed", *more,
                               *more == 1 ? "more is" : "more are"),
          *more};
}

}  // namespace

double VerdictRule::log_margin() const {
  return std::log1p(margin);
}

std::size_t VerdictRule::least_draws() const {
  return std::max(least_units, static_cast<std::size_t>(std::ceil(std::log2(2 / alpha))));
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

bool is_different(Verdict verdict) {
  return verdict == Verdict::slower || verdict == Verdict::faster || verdict == Verdict::shifted;
}

Control judge_control(const PairedEffect& control, const VerdictRule& rule, std::size_t cells) {
  if (control.pairs < least_units || !(control.freedom > 0)) return Control::too_short;
  const double miss = 0.01 / static_cast<double>(std::max<std::size_t>(1, cells));
  const double half = student_t_quantile(1 - miss / 2, control.freedom) * control.error;
  const Interval interval{control.mean - half, control.mean + half};
  return lies_beyond(interval, rule.log_margin() / 4) ? Control::moved : Control::quiet;
}

std::size_t unstable_outliers(std::size_t cells) {
  const double more = std::log(static_cast<double>(std::max<std::size_t>(1, cells))) / std::log(9);
  return 2 + static_cast<std::size_t>(std::ceil(more - 1e-9));
}

Ruling judge(const PairedEffect& effect, const FamilyTest& test, bool paired, Control control,
             const VerdictRule& rule) {
  if (control == Control::moved) {
    return {Verdict::invalid, "control_moved",
            "A measured twice differs from itself: the order or time of measuring made a "
            "difference, so this says nothing about B"};
  }
  if (effect.pairs < least_units) {
    return {
        Verdict::inconclusive, "too_few_units",
        fmt::format("{} {}{}{}; a verdict needs at least {}", effect.pairs, paired ? "pair" : "run",
                    effect.pairs == 1 ? "" : "s", paired ? "" : " a side", least_units)};
  }
  if (effect.drifts() && effect.p_equal >= rule.alpha) return drifting(effect, test, rule);
  const bool signs_agree = !paired || excludes_zero(effect.sign95);
  const double p_beyond = effect.mean > 0 ? test.p_slower : test.p_faster;
  if (lies_beyond(effect.t95, rule.log_margin()) && signs_agree && p_beyond <= rule.alpha / 2) {
    return {
        effect.mean > 0 ? Verdict::slower : Verdict::faster, "beyond_margin",
        fmt::format("{} by more than the margin of {:.2g}%{}", direction(effect.mean),
                    100 * rule.margin,
                    paired ? "" : "; UNPAIRED: a drift between the two sides is not controlled")};
  }
  if (effect.p_equal < rule.alpha) {
    if (effect.outliers.size() >= unstable_outliers(test.cells)) return unstable(effect);
    if (control == Control::too_short) {
      return {Verdict::inconclusive, "control_too_short",
              "the control (A measured twice) has too few pairs to rule out that something else "
              "changed"};
    }
    const bool tiny =
        excludes_zero(effect.t95) && excludes_zero(effect.sign95) && test.p_different <= rule.alpha;
    return {Verdict::equal, "within_margin",
            tiny ? fmt::format("within the margin; {} {} is real but small", percent(effect.mean),
                               direction(effect.mean))
                 : "within the margin"};
  }
  if (excludes_zero(effect.t95) && signs_agree && test.p_different <= rule.alpha) {
    return {
        Verdict::shifted, "differs",
        fmt::format("{}, but not proven to be beyond the margin{}", direction(effect.mean),
                    paired ? "" : "; UNPAIRED: a drift between the two sides is not controlled")};
  }
  return undecided(effect, test, paired, rule);
}

FamilyTest alone(const PairedEffect& effect, const VerdictRule& rule) {
  FamilyTest test;
  test.p_different = t_test(effect, Alternative::different, 0);
  test.p_slower = t_test(effect, Alternative::above, rule.log_margin());
  test.p_faster = t_test(effect, Alternative::below, -rule.log_margin());
  return test;
}

}  // namespace assay
