#include "judge/compare/sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"

namespace assay {
namespace {

/// "1.8% more", "3% less": a ratio of times.
std::string change(double ratio) {
  return fmt::format("{} {}", format_percent(std::abs(ratio - 1)), ratio < 1 ? "less" : "more");
}

std::string from_to(const Interval& ratio) {
  if ((ratio.low < 1) == (ratio.high < 1)) {
    const double least = ratio.low < 1 ? ratio.high : ratio.low;
    const double most = ratio.low < 1 ? ratio.low : ratio.high;
    return fmt::format("{} to {}", format_percent(std::abs(least - 1)), change(most));
  }
  return fmt::format("{} to {}", change(ratio.low), change(ratio.high));
}

}  // namespace

std::string ruling_sentence(const Comparison& comparison, std::string_view a, std::string_view b) {
  const Ruling& ruling = comparison.all.judgement;
  switch (ruling.verdict) {
    case Verdict::equal:
      return fmt::format("{} is as fast as {}: {}.", b, a, ruling.reason);
    case Verdict::slower:
      return fmt::format("{} is slower than {}: {}.", b, a, ruling.reason);
    case Verdict::faster:
      return fmt::format("{} is faster than {}: {}.", b, a, ruling.reason);
    case Verdict::shifted:
      return fmt::format("{} differs from {}: {}.", b, a, ruling.reason);
    case Verdict::invalid:
      return fmt::format("No verdict on {} against {}: {}.", b, a, ruling.reason);
    default:
      return fmt::format("It remains open whether {} is as fast as {}: {}.", b, a, ruling.reason);
  }
}

std::string time_sentence(const Summation& all, std::string_view a, std::string_view b) {
  if (!all.ratio) return {};
  if (!all.ratio95) {
    return fmt::format(
        "In the geometric mean over cells, {} took {} time than {}; an interval needs several "
        "pairs "
        "with a value in every cell, so no difference is proven.",
        b, change(*all.ratio), a);
  }
  if (all.ratio95->low <= 1 && all.ratio95->high >= 1) {
    return fmt::format(
        "No difference in time is proven over all cells: {} takes {} than {} (95% interval of the "
        "geometric mean).",
        b, from_to(*all.ratio95), a);
  }
  return fmt::format(
      "In the geometric mean over cells, {} takes {} time than {} (95% interval {}).", b,
      change(*all.ratio), a, from_to(*all.ratio95));
}

std::string bound_sentence(const Comparison& comparison, std::string_view a, std::string_view b) {
  const std::size_t cells = comparison.cells.size();
  if (comparison.all.judgement.verdict == Verdict::equal) return {};
  for (const double bound : {comparison.rule.margin, 0.05, 0.1, 0.2, 0.5, 1.0}) {
    if (bound < comparison.rule.margin) continue;
    const auto kept = static_cast<std::size_t>(std::count_if(
        comparison.cells.begin(), comparison.cells.end(), [&](const CellComparison& cell) {
          return cell.judgement.verdict != Verdict::invalid && cell.effect.n >= least_units &&
                 cell.effect.t95.high <= std::log1p(bound);
        }));
    if (2 * kept < cells || kept == 0) continue;
    return fmt::format(
        "{} takes at most {} longer than {} in {} of {} cells, each with 95% confidence.", b,
        format_percent(bound), a, kept, cells);
  }
  return {};
}

std::string node_sentence(std::string_view node, const NodeCell& cell) {
  const double percent = 100 * (cell.slower - 1);
  return fmt::format(
      "{} takes {:.1f}% {} time than the fleet's median in {} {} ({} against {}); {}.", node,
      std::abs(percent), percent < 0 ? "less" : "more", cell.key.cell, cell.key.metric,
      format_in(cell.value, cell.unit), format_in(cell.median, cell.unit),
      std::isfinite(cell.detectable)
          ? fmt::format("a difference below {:.1f}% would have gone unnoticed there",
                        100 * (cell.detectable - 1))
          : "any difference would have gone unnoticed there");
}

}  // namespace assay
