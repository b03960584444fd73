#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "judge/report/charts/charts.h"
#include "judge/report/metric_choice.h"
#include "judge/report/number_text.h"

namespace assay::report {
namespace {

constexpr std::size_t most_rows = 40;  // maximum that one chart can show legibly

using Cells = std::vector<const CellComparison*>;

using Axis = std::pair<std::string, std::string>;

/// What all of several cells have in common; nothing of a single one.
std::set<Axis> shared_axes(const Cells& cells) {
  std::map<Axis, std::size_t> counts;
  for (const CellComparison* cell : cells) {
    for (const Axis& axis : std::set<Axis>(cell->axes.begin(), cell->axes.end())) ++counts[axis];
  }
  std::set<Axis> shared;
  for (const auto& [axis, count] : counts) {
    if (cells.size() > 1 && count == cells.size()) shared.insert(axis);
  }
  return shared;
}

/// Names a cell by the axes in which it differs from others.
std::string label_of(const CellComparison& cell, const std::set<Axis>& shared) {
  std::string text;
  for (const Axis& axis : cell.axes) {
    if (shared.contains(axis)) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", axis.first, axis.second);
  }
  return text.empty() ? cell.key.cell : text;
}

std::string summary_of(const Cells& cells, const Comparison& comparison) {
  const auto [least, most] = std::minmax_element(
      cells.begin(), cells.end(), [](const auto* a, const auto* b) { return a->ratio < b->ratio; });
  const std::set<Axis> shared = shared_axes(cells);
  std::size_t within = 0;
  for (const CellComparison* cell : cells) {
    const double bound = 1 + comparison.rule.margin;
    within += cell->ratio < bound && cell->ratio > 1 / bound ? 1 : 0;
  }
  return fmt::format(
      "{} over {}: the estimates of {} of {} lie within the margin of {:.2g}%; from {:.4g} ({}) to "
      "{:.4g} ({}).",
      comparison.name_b, comparison.name_a, within, counted(cells.size(), "cell"),
      100 * comparison.rule.margin, (*least)->ratio, label_of(**least, shared), (*most)->ratio,
      label_of(**most, shared));
}

/// The cells from `first` on, named by what not all cells share.
Chart chart_of(const Cells& all, const std::set<Axis>& shared, std::size_t first,
               const Comparison& comparison) {
  const std::size_t count = std::min(most_rows, all.size() - first);
  const Cells cells(all.begin() + static_cast<std::ptrdiff_t>(first),
                    all.begin() + static_cast<std::ptrdiff_t>(first + count));
  Chart chart;
  chart.kind = ChartKind::ratio;
  // File names would fill the title, so the page's header tells which side is A and which is B.
  constexpr std::size_t short_name = 20;
  const bool by_name =
      comparison.name_a.size() <= short_name && comparison.name_b.size() <= short_name;
  chart.title =
      fmt::format("{} {}: {} over {}", cells.front()->benchmark, cells.front()->key.metric,
                  by_name ? comparison.name_b : "B", by_name ? comparison.name_a : "A");
  if (all.size() > most_rows) {
    chart.title += fmt::format(", part {} of {}", first / most_rows + 1,
                               (all.size() + most_rows - 1) / most_rows);
  }
  chart.summary = summary_of(cells, comparison);
  chart.settings = {{"margin", comparison.rule.margin}, {"better", name_of(cells.front()->better)}};
  chart.table.caption = chart.title;
  chart.table.columns = {{"label", "cell"},
                         {"verdict", "verdict", ColumnKind::verdict},
                         {"ratio", "ratio", ColumnKind::number, "1"},
                         {"low", "95% low", ColumnKind::number, "1"},
                         {"high", "95% high", ColumnKind::number, "1"}};
  for (const CellComparison* cell : cells) {
    const bool bounded = cell->has_interval();
    chart.table.rows.push_back({label_of(*cell, shared),
                                std::string(name_of(cell->judgement.verdict)), cell->ratio,
                                bounded ? Field(cell->ratio95.low) : Field(),
                                bounded ? Field(cell->ratio95.high) : Field()});
  }
  return chart;
}

}  // namespace

std::vector<Chart> ratio_charts(const Comparison& comparison) {
  std::map<std::pair<std::string, std::string>, Cells> groups;
  for (const CellComparison& cell : comparison.cells) {
    if (cell.effect.pairs == 0) continue;  // INVALID cells were never compared
    groups[{cell.benchmark, cell.key.metric}].push_back(&cell);
  }
  std::vector<Chart> charts;
  std::map<std::string, std::set<std::string>> metrics;
  for (const auto& group : groups) metrics[group.first.first].insert(group.first.second);
  for (auto& [name, cells] : groups) {
    if (!is_shown(name.second, metrics[name.first])) continue;
    std::stable_sort(cells.begin(), cells.end(),
                     [](const auto* a, const auto* b) { return comes_before(a->axes, b->axes); });
    const std::set<Axis> shared = shared_axes(cells);
    for (std::size_t first = 0; first < cells.size(); first += most_rows) {
      charts.push_back(chart_of(cells, shared, first, comparison));
    }
  }
  return charts;
}

}  // namespace assay::report
