#include "cli/compare_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/cell_names.h"
#include "cli/differences_view.h"
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

std::string signed_percent(double ratio) {
  return fmt::format("{:+.1f}", 100 * (ratio - 1));
}

/// Smallest detectable change of times, in percent.
std::string detectable_text(const CellComparison& cell) {
  const double detectable = cell.effect.detectable;
  return detectable > 0 ? fmt::format("{:.2g}%", 100 * std::expm1(detectable)) : "";
}

std::string cells_text(const Comparison& comparison, std::size_t width, const Style& style) {
  const CellNames cells =
      cell_names(comparison.cells, [](const CellComparison& cell) { return cell.key.cell; });
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
               cell.a.empty() ? style.dim("-") : format_in(cell.median_a, cell.unit),
               cell.b.empty() ? style.dim("-") : format_in(cell.median_b, cell.unit),
               change_text(cell), verdict_text(cell.judgement.verdict, style),
               cell.effect.pairs > 0 ? fmt::format("{}", cell.effect.pairs) : "",
               detectable_text(cell), outliers > 0 ? fmt::format("{}", outliers) : "",
               cell.control_state == Control::off ? "" : std::string(name_of(cell.control_state))});
  }
  return cells.heading(width, 0) + table.render(width, style, 0) + "\n";
}

/// Each reason once, with the cells it applies to.
std::string reasons_text(const Comparison& comparison, std::size_t width) {
  std::map<std::string, std::vector<const CellComparison*>> by_reason;
  for (const CellComparison& cell : comparison.cells) {
    if (cell.judgement.verdict == Verdict::equal) continue;
    by_reason[fmt::format("{}: {}", name_of(cell.judgement.verdict), cell.judgement.reason)]
        .push_back(&cell);
  }
  std::string text;
  for (const auto& [reason, cells] : by_reason) {
    const std::string where =
        cells.size() == 1 ? cells.front()->key.cell : fmt::format("{} cells", cells.size());
    text += wrapped(fmt::format("{} ({})", reason, where), 0, width) + "\n";
  }
  return text.empty() ? text : text + "\n";
}

std::string headline_text(const Comparison& comparison, std::size_t width) {
  const Summation& all = comparison.all;
  std::string text = wrapped(time_sentence(all, "A", "B"), 0, width);
  text += text.empty() ? "cells:" : "\ncells:";
  for (std::size_t i = 0; i < verdict_count; ++i) {
    if (all.counts[i] == 0) continue;
    text += fmt::format(" {} {}", all.counts[i], name_of(static_cast<Verdict>(i)));
  }
  return text + "\n\n";
}

std::string problems_text(const Comparison& comparison) {
  std::string text;
  const auto& problems = comparison.problems;
  for (std::size_t i = 0; i < std::min(problems.size(), most_problems); ++i) {
    text += "note: " + problems[i] + "\n";
  }
  if (problems.size() > most_problems) {
    text += fmt::format("note: and {} more; --json lists them\n", problems.size() - most_problems);
  }
  return text;
}

}  // namespace

std::string sentence(const Comparison& comparison) {
  return fmt::format("{}{}: {}", comparison.emulated ? of_a_model : "",
                     name_of(comparison.all.judgement.verdict),
                     ruling_sentence(comparison, "A", "B"));
}

std::string change_text(const CellComparison& cell) {
  if (cell.effect.pairs == 0) return "";
  std::string text = signed_percent(cell.ratio) + "%";
  if (std::isfinite(cell.ratio95.high) && cell.ratio95.low > 0) {
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
    text += cells_text(comparison, width, style) + reasons_text(comparison, width) +
            headline_text(comparison, width);
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
