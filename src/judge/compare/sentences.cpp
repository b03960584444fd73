#include "judge/compare/sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "core/units.h"

namespace assay {
namespace {

/// Formats a ratio of times: "1.8% more", "3% less".
std::string change(double ratio) {
  return fmt::format("{} {}", format_percent(std::abs(ratio - 1)), ratio < 1 ? "less" : "more");
}

/// Formats a ratio of times: "7.3", "237", "23600".
std::string factor_text(double ratio) {
  return fmt::format("{:.{}f}", ratio, ratio < 10 ? 1 : 0);
}

/// Returns "1.8% more time than A", "237 times as long as A".
std::string time_than(double ratio, std::string_view a) {
  return ratio < many_times ? fmt::format("{} time than {}", change(ratio), a)
                            : fmt::format("{} as long as {}", times_text(ratio), a);
}

std::string from_to(const Interval& ratio) {
  if ((ratio.low < 1) == (ratio.high < 1)) {
    const double least = ratio.low < 1 ? ratio.high : ratio.low;
    const double most = ratio.low < 1 ? ratio.low : ratio.high;
    const std::string from = format_percent(std::abs(least - 1)), to = change(most);
    // "20% to 20% more" would hide what is known, so more digits are shown.
    if (to.starts_with(from + " ")) {
      return fmt::format("{:.2f}% to {:.2f}% {}", 100 * std::abs(least - 1),
                         100 * std::abs(most - 1), ratio.low < 1 ? "less" : "more");
    }
    return fmt::format("{} to {}", from, to);
  }
  return fmt::format("{} to {}", change(ratio.low), change(ratio.high));
}

/// The part of a problem that begins with the status: "interrupted: the budget was spent" for
/// "A: run 2026...: memory op=copy: interrupted: the budget was spent"; of a line that could not be
/// read, the part behind its number: "not JSON, ignored" for "A: records.jsonl:17: not JSON,
/// ignored". Any other problem is returned whole.
std::string_view what_happened(std::string_view problem) {
  std::size_t at = problem.npos;
  for (const RecordStatus status : {RecordStatus::failed, RecordStatus::error,
                                    RecordStatus::unsupported, RecordStatus::interrupted}) {
    at = std::min(at, problem.find(fmt::format(": {}: ", name_of(status))));
  }
  if (at != problem.npos) return problem.substr(at + 2);
  constexpr std::string_view file = ".jsonl:";
  const std::size_t line = problem.find(file);
  const std::size_t end = line == problem.npos ? line : problem.find(": ", line + file.size());
  return end == problem.npos ? problem : problem.substr(end + 2);
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

std::string times_text(double ratio) {
  return factor_text(ratio) + " times";
}

std::string effect_sentence(double ratio, const Interval& ratio95, std::string_view a,
                            std::string_view b, std::string_view of) {
  if (ratio95.low <= 1 && ratio95.high >= 1) {
    return fmt::format("{} takes {} time than {} (95% interval{})", b, from_to(ratio95), a, of);
  }
  const std::string interval =
      ratio < many_times
          ? from_to(ratio95)
          : fmt::format("{} to {}", factor_text(ratio95.low), factor_text(ratio95.high));
  return fmt::format("{} takes {} (95% interval{} {})", b, time_than(ratio, a), of, interval);
}

std::string time_sentence(const Summation& all, std::string_view a, std::string_view b) {
  if (!all.ratio) return {};
  if (!all.ratio95) {
    return fmt::format(
        "In the geometric mean over cells, {} took {}; an interval needs {} pairs with a value in "
        "every cell, so no difference of this mean is proven.",
        b, time_than(*all.ratio, a), least_units);
  }
  if (all.ratio95->low <= 1 && all.ratio95->high >= 1) {
    return fmt::format(
        "No difference in time is proven over all cells: {} takes {} than {} (95% interval of the "
        "geometric mean).",
        b, from_to(*all.ratio95), a);
  }
  const Verdict verdict = all.mean_verdict.value_or(Verdict::inconclusive);
  const bool proven = is_different(verdict) || verdict == Verdict::equal;
  return fmt::format("In the geometric mean over cells, {}{}.",
                     effect_sentence(*all.ratio, *all.ratio95, a, b),
                     proven ? "" : ", which is not yet proven");
}

std::string bound_sentence(const Comparison& comparison, std::string_view a, std::string_view b) {
  if (comparison.all.judgement.verdict == Verdict::equal) return {};
  std::vector<double> bounds;  // bounds of B's additional time, by cell
  for (const CellComparison& cell : comparison.cells) {
    if (cell.judgement.verdict == Verdict::invalid || !cell.has_interval()) continue;
    bounds.push_back(std::expm1(cell.effect.t95.high));
  }
  if (bounds.empty() || 2 * bounds.size() < comparison.cells.size()) return {};
  std::sort(bounds.begin(), bounds.end());
  // The bound is rounded up, because a bound rounded down would be false; 1e-6 absorbs rounding
  // errors.
  const auto at_most = [](double bound, std::string_view than) {
    if (bound + 1 >= many_times) {
      const double steps = bound < 100 ? 10 : 1;  // in 1
      return fmt::format("at most {} times as long{}{}",
                         std::ceil((bound + 1) * steps - 1e-6) / steps, than.empty() ? "" : " as ",
                         than);
    }
    return fmt::format("at most {:.1f}% longer{}{}",
                       std::max(0.0, std::ceil(bound * 1000 - 1e-6) / 10),
                       than.empty() ? "" : " than ", than);
  };
  const double of_all = bounds.back(), of_half = bounds[(bounds.size() - 1) / 2];
  if (of_all <= 2 * std::max(of_half, comparison.rule.margin) || bounds.size() == 1) {
    return fmt::format(
        "{} takes {}{}, with 95% confidence.", b, at_most(of_all, a),
        bounds.size() == 1 ? "" : fmt::format(" in each of {} cells by itself", bounds.size()));
  }
  return fmt::format(
      "{} takes {} in {} of {} cells, and {} in {}, each with 95% confidence.", b,
      at_most(of_half, a), (bounds.size() - 1) / 2 + 1, comparison.cells.size(),
      at_most(of_all, {}),
      bounds.size() == comparison.cells.size() ? "all" : std::to_string(bounds.size()));
}

std::vector<std::string> kinds_of_problems(const std::vector<std::string>& problems) {
  struct Kind {
    const std::string* first;
    std::size_t count;
  };
  std::vector<Kind> kinds;  // in the order of the first of each
  std::unordered_map<std::string_view, std::size_t> places;
  for (const std::string& problem : problems) {
    const auto [place, fresh] = places.emplace(what_happened(problem), kinds.size());
    if (fresh) kinds.push_back({&problem, 0});
    ++kinds[place->second].count;
  }
  std::vector<std::string> texts;
  for (const auto& [first, count] : kinds) {
    const std::size_t others = count - 1;
    texts.push_back(others == 0 ? *first
                                : fmt::format("{} (and {} more such result{})", *first, others,
                                              others == 1 ? "" : "s"));
  }
  return texts;
}

std::string node_sentence(std::string_view node, const NodeCell& cell) {
  const double percent = 100 * (cell.slower - 1);
  constexpr double useless = 100;  // times
  std::string unnoticed = "any difference";
  if (cell.detectable < many_times) {
    unnoticed = fmt::format("a difference below {:.1f}%", 100 * (cell.detectable - 1));
  } else if (cell.detectable < useless) {
    unnoticed = fmt::format("up to {} as much time", times_text(cell.detectable));
  }
  return fmt::format(
      "{} takes {:.1f}% {} time than the fleet's median in {} {} ({} against {}); {} would have "
      "gone unnoticed there.",
      node, std::abs(percent), percent < 0 ? "less" : "more", cell.key.cell, cell.key.metric,
      format_in(cell.value, cell.unit), format_in(cell.median, cell.unit), unnoticed);
}

}  // namespace assay
