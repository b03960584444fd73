#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/units.h"
#include "judge/compare/sentences.h"
#include "judge/report/charts/charts.h"
#include "judge/report/metric_choice.h"
#include "judge/report/number_text.h"

namespace assay::report {
namespace {

constexpr std::size_t most_ratios = 40;  // maximum that one chart can show legibly

/// Returns "+46%", "-0.31%", "41 times as long".
std::string signed_text(double change) {
  if (1 + change >= many_times) return times_text(1 + change) + " as long";
  return fmt::format("{}{}", change < 0 ? "-" : "+", format_percent(std::abs(change)));
}

double change_of(const RatioRow& row) {
  return std::expm1(row.cell->effect.mean);
}

std::string summary_of(const std::vector<RatioRow>& rows, double margin) {
  const auto [least, most] =
      std::ranges::minmax_element(rows, {}, [](const RatioRow& row) { return change_of(row); });
  const auto within = std::ranges::count_if(rows, [&](const RatioRow& row) {
    return std::abs(row.cell->effect.mean) < std::log1p(margin);
  });
  if (rows.size() == 1) {
    return fmt::format("The estimate, {}, lies {} the margin of {:.2g}%.",
                       signed_text(change_of(rows.front())), within == 1 ? "within" : "beyond",
                       100 * margin);
  }
  return fmt::format(
      "The estimates of {} of {} lie within the margin of {:.2g}%; from {} ({}) to {} ({}).",
      within, counted(rows.size(), "cell"), 100 * margin, signed_text(change_of(*least)),
      least->label, signed_text(change_of(*most)), most->label);
}

}  // namespace

Chart ratio_chart(const std::vector<RatioRow>& rows, double margin, const std::string& title) {
  Chart chart;
  chart.kind = ChartKind::ratio;
  chart.title = title;
  chart.summary = summary_of(rows, margin);
  chart.settings = {{"margin", margin}};
  chart.table.caption = title;
  chart.table.columns = {{"label", "cell"},
                         {"verdict", "verdict", ColumnKind::verdict},
                         {"change", "more time", ColumnKind::change, "1"},
                         {"low", "95% low", ColumnKind::change, "1"},
                         {"high", "95% high", ColumnKind::change, "1"}};
  for (const RatioRow& row : rows) {
    const CellComparison& cell = *row.cell;
    const bool bounded = cell.has_interval();
    chart.table.rows.push_back({row.label, std::string(name_of(cell.judgement.verdict)),
                                change_of(row),
                                bounded ? Field(std::expm1(cell.effect.t95.low)) : Field(),
                                bounded ? Field(std::expm1(cell.effect.t95.high)) : Field()});
  }
  return chart;
}

std::vector<RatioRow> ratio_rows(const Comparison& comparison) {
  std::map<std::string, std::set<std::string>> metrics;
  for (const CellComparison& cell : comparison.cells) {
    metrics[cell.benchmark].insert(cell.key.metric);
  }
  std::vector<RatioRow> rows;
  std::vector<NamedCell> named;
  for (const CellComparison& cell : comparison.cells) {
    // INVALID cells were never compared.
    if (cell.effect.pairs == 0 || !is_shown(cell.key.metric, metrics[cell.benchmark])) continue;
    rows.push_back({&cell, ""});
    named.push_back({cell.benchmark, cell.key.metric, &cell.axes});
  }
  const std::vector<std::string> names = short_names(named);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].label = names[i];
  return rows;
}

std::vector<Chart> ratio_charts(const Comparison& comparison) {
  std::map<std::pair<std::string, std::string>, std::vector<RatioRow>> groups;
  for (RatioRow& row : ratio_rows(comparison)) {
    groups[{row.cell->benchmark, row.cell->key.metric}].push_back(std::move(row));
  }
  std::vector<Chart> charts;
  for (const auto& [name, rows] : groups) {
    const std::size_t parts = (rows.size() + most_ratios - 1) / most_ratios;
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t begin = part * most_ratios,
                        end = std::min(begin + most_ratios, rows.size());
      charts.push_back(ratio_chart(
          {rows.data() + begin, rows.data() + end}, comparison.rule.margin,
          fmt::format("{} {}: time of {} against {}{}", name.first, name.second, comparison.name_b,
                      comparison.name_a,
                      parts > 1 ? fmt::format(", part {} of {}", part + 1, parts) : "")));
    }
  }
  return charts;
}

}  // namespace assay::report
