#include "cli/judge/compare_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "cli/cell_names.h"
#include "cli/exit_code.h"
#include "cli/judge/differences_view.h"
#include "cli/table.h"
#include "core/units.h"
#include "judge/compare/emulated.h"
#include "judge/compare/sentences.h"

namespace assay::cli {
namespace {

constexpr std::size_t most_differences = 8;
constexpr std::size_t most_problems = 10;

std::string verdict_text(Verdict verdict, const Style& style) {
  const std::string name(name_of(verdict));
  switch (verdict) {
    case Verdict::equal:
    case Verdict::faster:
      return style.green(name);
    case Verdict::slower:
    case Verdict::invalid:
      return style.red(name);
    default:
      return style.yellow(name);
  }
}

/// Whether A, measured twice, agrees with itself; empty if there is no control.
std::string control_text(Control control) {
  switch (control) {
    case Control::off:
      return "";
    case Control::too_short:
      return "too short";
    case Control::quiet:
      return "A = A";
    case Control::moved:
      return "A moved";
  }
  return "";
}

std::string signed_percent(double ratio) {
  return fmt::format("{:+.1f}", 100 * (ratio - 1));
}

/// Smallest detectable change of times, in percent.
std::string detectable_text(const CellComparison& cell) {
  constexpr double least = 1e-4;  // runs that hardly vary would give digits of rounding errors
  const double detectable = cell.effect.detectable;
  if (!cell.has_interval() || !(detectable > 0)) return "";
  return detectable < least ? "<0.01%" : format_percent(std::expm1(detectable));
}

/// Whether the change within pairs is visibly another than that between the medians.
bool differs_from_medians(const CellComparison& cell) {
  constexpr double visible = 0.01;
  return cell.effect.pairs > 0 && cell.median_a > 0 &&
         std::abs(cell.median_b / cell.median_a - cell.ratio) > visible;
}

/// The median of a side; between hosts also in the unit in which networks are rated.
std::string median_text(const CellComparison& cell, double median) {
  std::string text = format_in(median, cell.unit);
  if (cell.unit == "bytes/s" && cell.key.cell.starts_with("rdma ")) {
    text += fmt::format(" ({} Gb/s)", format_significant(median * 8 / 1e9));
  }
  return text;
}

std::string cells_text(const Comparison& comparison, const CellNames& cells, std::size_t width,
                       const Style& style) {
  Table table({{"cell", Column::Align::left, 0},
               {"metric", Column::Align::left, 3},
               {"A", Column::Align::right, 5},
               {"B", Column::Align::right, 5},
               {"B against A", Column::Align::left, 0},
               {"verdict", Column::Align::left, 0},
               {comparison.paired ? "pairs" : "runs", Column::Align::right, 4},
               {"detectable", Column::Align::right, 2},
               {"outliers", Column::Align::right, 1},
               {"control", Column::Align::left, 1}});
  for (std::size_t i = 0; i < comparison.cells.size(); ++i) {
    const CellComparison& cell = comparison.cells[i];
    const std::size_t outliers = cell.effect.outliers.size();
    table.add({cells.names[i], cell.key.metric,
               cell.a.empty() ? style.dim("-") : median_text(cell, cell.median_a),
               cell.b.empty() ? style.dim("-") : median_text(cell, cell.median_b),
               change_text(cell), verdict_text(cell.judgement.verdict, style),
               cell.effect.pairs > 0 ? fmt::format("{}", cell.effect.pairs) : "",
               detectable_text(cell), outliers > 0 ? fmt::format("{}", outliers) : "",
               control_text(cell.control_state)});
  }
  std::string text = heading_text(cells, width, 0) + table.render(width, style, 0);
  if (comparison.paired && std::ranges::any_of(comparison.cells, differs_from_medians)) {
    text += wrapped(
        "A and B are medians over runs; B against A is the mean change from A to B within pairs, "
        "so "
        "the two may differ where runs vary.",
        0, width);
    text += "\n";
  }
  return text + "\n";
}

/// Other results of both sides than speed, such as a loss; empty if there are none.
std::string beside_text(const Comparison& comparison, std::size_t width, const Style& style) {
  if (comparison.beside.empty()) return "";
  const CellNames cells =
      cell_names(comparison.beside, [](const SideComparison& one) { return one.key.cell; });
  const bool one_cell = comparison.beside.front().key.cell == comparison.beside.back().key.cell;
  Table table({{"cell", Column::Align::left, 0},
               {"not judged", Column::Align::left, 3},
               {"A", Column::Align::right, 5},
               {"B", Column::Align::right, 5},
               {"B against A", Column::Align::left, 0}});
  for (std::size_t i = 0; i < comparison.beside.size(); ++i) {
    const SideComparison& one = comparison.beside[i];
    const std::string change = one.same ? "the same in all runs"
                               : one.median_a != 0
                                   ? signed_percent(one.median_b / one.median_a) + "%"
                                   : "";
    table.add({one_cell ? "" : cells.names[i], one.key.metric, format_in(one.median_a, one.unit),
               format_in(one.median_b, one.unit), change});
  }
  return (one_cell ? "" : heading_text(cells, width, 0)) + table.render(width, style, 0) + "\n";
}

using NameOf = std::function<std::string(const CellComparison&)>;

/// What cells with outlying pairs have in common.
std::string unstable_text(const std::vector<const CellComparison*>& cells,
                          const NameOf& name_of_cell) {
  const CellComparison& worst = **std::max_element(
      cells.begin(), cells.end(), [](const CellComparison* a, const CellComparison* b) {
        return a->effect.outliers.size() < b->effect.outliers.size();
      });
  const std::string others = cells.size() == 1 ? "" : fmt::format("; {} cells", cells.size());
  return fmt::format(
      "{}: {} of {} pairs are outliers: most pairs agree, some do not ({}{}); other programs, heat "
      "or the clock disturbed them, or the value itself jumps between two levels",
      name_of(Verdict::unstable), worst.effect.outliers.size(), worst.effect.pairs,
      name_of_cell(worst), others);
}

/// Each reason once, with its cells. Cells that only need more pairs share one line.
std::string reasons_text(const Comparison& comparison, const CellNames& names, std::size_t width) {
  const NameOf name_of_cell = [&](const CellComparison& cell) {
    return names.names[static_cast<std::size_t>(&cell - comparison.cells.data())];
  };
  std::map<std::string, std::vector<const CellComparison*>> by_reason;
  std::vector<const CellComparison*> short_of_pairs, unstable;
  for (const CellComparison& cell : comparison.cells) {
    if (cell.judgement.verdict == Verdict::equal) continue;
    if (cell.judgement.more_pairs > 0) {
      short_of_pairs.push_back(&cell);
      continue;
    }
    if (cell.judgement.verdict == Verdict::unstable) {
      unstable.push_back(&cell);
      continue;
    }
    by_reason[fmt::format("{}: {}", name_of(cell.judgement.verdict), cell.judgement.reason)]
        .push_back(&cell);
  }
  std::string text;
  if (!short_of_pairs.empty()) {
    const auto fewer = [](const CellComparison* a, const CellComparison* b) {
      return a->judgement.more_pairs < b->judgement.more_pairs;
    };
    const auto [least, most] =
        std::minmax_element(short_of_pairs.begin(), short_of_pairs.end(), fewer);
    const std::string cells =
        short_of_pairs.size() == 1
            ? name_of_cell(**least)
            : fmt::format("{}; up to {} for all {} cells", name_of_cell(**least),
                          (*most)->judgement.more_pairs, short_of_pairs.size());
    const Ruling& ruling = (*least)->judgement;
    text += wrapped(fmt::format("{}: {} ({})", name_of(ruling.verdict), ruling.reason, cells), 0,
                    width) +
            "\n";
  }
  if (!unstable.empty()) text += wrapped(unstable_text(unstable, name_of_cell), 0, width) + "\n";
  for (const auto& [reason, cells] : by_reason) {
    const std::string where =
        cells.size() == 1 ? name_of_cell(*cells.front()) : fmt::format("{} cells", cells.size());
    text += wrapped(fmt::format("{} ({})", reason, where), 0, width) + "\n";
  }
  return text.empty() ? text : text + "\n";
}

std::string headline_text(const Comparison& comparison, std::size_t width) {
  const Summation& all = comparison.all;
  std::string text;
  for (const std::string& sentence :
       {time_sentence(all, "A", "B"), bound_sentence(comparison, "A", "B")}) {
    if (!sentence.empty()) text += wrapped(sentence, 0, width) + "\n";
  }
  text += "cells:";
  for (std::size_t i = 0; i < verdict_count; ++i) {
    if (all.counts[i] == 0) continue;
    text += fmt::format(" {} {}", all.counts[i], name_of(static_cast<Verdict>(i)));
  }
  return text + "\n\n";
}

std::string problems_text(const Comparison& comparison) {
  const std::vector<std::string> kinds = kinds_of_problems(comparison.problems);
  std::string text;
  for (std::size_t i = 0; i < std::min(kinds.size(), most_problems); ++i) {
    text += fmt::format("note: {}\n", kinds[i]);
  }
  if (kinds.size() > most_problems) {
    text += fmt::format("note: and {} more; --json lists them\n", kinds.size() - most_problems);
  }
  return text;
}

}  // namespace

std::string sentence(const Comparison& comparison) {
  return fmt::format("{}{}: {}", comparison.emulated ? of_a_model : "",
                     name_of(comparison.all.judgement.verdict),
                     ruling_sentence(comparison, "A", "B"));
}

int exit_status_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::equal:
      return exit_ok;
    case Verdict::invalid:
      return exit_verification;
    case Verdict::inconclusive:
    case Verdict::unstable:
      return exit_inconclusive;
    default:
      return exit_differs;
  }
}

std::string change_text(const CellComparison& cell) {
  if (cell.effect.pairs == 0) return "";
  std::string text = signed_percent(cell.ratio) + "%";
  if (cell.has_interval()) {
    text += fmt::format(" [{}, {}]", signed_percent(cell.ratio95.low),
                        signed_percent(cell.ratio95.high));
  }
  return text;
}

std::string comparison_text(const Comparison& comparison, bool every_difference, std::size_t width,
                            const Style& style) {
  std::string text = wrapped(style.bold(sentence(comparison)), 0, width) + "\n";
  const std::string sides = fmt::format(
      "A {}, {} runs; B {}, {} runs; margin {:.2g}%{}", comparison.name_a, comparison.units_a,
      comparison.name_b, comparison.units_b, 100 * comparison.rule.margin,
      comparison.paired ? ""
                        : "; UNPAIRED: a drift between the two is not controlled, so nothing can "
                          "be EQUAL");
  text += wrapped(sides, 0, width) + "\n\n";
  if (!comparison.cells.empty()) {
    const CellNames cells =
        cell_names(comparison.cells, [](const CellComparison& cell) { return cell.key.cell; });
    text += cells_text(comparison, cells, width, style) + beside_text(comparison, width, style) +
            reasons_text(comparison, cells, width) + headline_text(comparison, width);
  }
  if (!comparison.environment.empty()) {
    std::vector<Difference> shown = comparison.environment;
    if (!every_difference && shown.size() > most_differences) shown.resize(most_differences);
    text += style.bold("what differs between the environments, likeliest cause first") + "\n";
    text += differences_text(shown, width, style);
    if (shown.size() < comparison.environment.size()) {
      text += fmt::format("and {} more: --all\n", comparison.environment.size() - shown.size());
    }
    text += "\n";
  }
  return text + problems_text(comparison);
}

}  // namespace assay::cli
