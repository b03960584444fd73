#include "judge/report/fleet_document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/version.h"
#include "judge/compare/emulated.h"
#include "judge/report/cell_names.h"

namespace assay::report {
namespace {

/// A column's key, and whether any node is beyond the margin there.
using Keys = std::map<SeriesKey, bool>;

Keys keys_of(const Fleet& fleet) {
  Keys keys;
  for (const NodeRow& row : fleet.rows) {
    for (const NodeCell& cell : row.cells) {
      keys[cell.key] |= std::abs(std::log(cell.slower)) > std::log1p(fleet.rule.margin);
    }
  }
  return keys;
}

/// The columns' headings, and lines with what they leave out because all columns share it.
struct Headings {
  std::map<SeriesKey, std::string> of_key;
  std::vector<std::string> shared;
};

Headings headings_of(const Keys& keys) {
  const CellNames cells = cell_names(keys, [](const auto& key) { return key.first.cell; });
  Headings headings{{}, cells.heading()};
  const bool one_metric = keys.size() > 1 && std::ranges::all_of(keys, [&](const auto& key) {
                            return key.first.metric == keys.begin()->first.metric;
                          });
  if (one_metric) headings.shared.push_back("metric: " + keys.begin()->first.metric);
  auto name = cells.names.begin();
  for (const auto& [key, varies] : keys) {
    headings.of_key[key] = one_metric ? *name : fmt::format("{} {}", *name, key.metric);
    ++name;
  }
  return headings;
}

bool is_outlier(const Fleet& fleet, const std::string& node, const SeriesKey& key) {
  const auto odd = std::ranges::find(fleet.odd, node, &OddNode::name);
  return odd != fleet.odd.end() &&
         std::ranges::any_of(odd->cells, [&](const NodeCell& cell) { return cell.key == key; });
}

/// The cells in which some node is beyond the margin, as a heat map. Empty if there are none.
std::optional<Chart> heat_map(const Fleet& fleet) {
  const Keys keys = keys_of(fleet);
  const Headings headings = headings_of(keys);
  Chart chart;
  chart.kind = ChartKind::heat;
  chart.title = "Nodes by cells";
  chart.table.caption = "Time against the fleet's median, in cells with a node beyond the margin";
  chart.table.columns = {{"from", "node"},
                         {"to", "cell"},
                         {"value", "against median", ColumnKind::number, "%", 1, "%"},
                         {"odd", "outlier"}};
  double least = 0, most = 0;
  for (const NodeRow& row : fleet.rows) {
    for (const NodeCell& cell : row.cells) {
      if (!keys.at(cell.key)) continue;
      const double percent = std::round(1000 * (cell.slower - 1)) / 10;  // fits into a square
      least = std::min(least, percent);
      most = std::max(most, percent);
      chart.table.rows.push_back(
          {row.name, headings.of_key.at(cell.key), percent,
           is_outlier(fleet, row.name, cell.key) ? Field("outlier") : Field()});
    }
  }
  if (chart.table.rows.empty()) return std::nullopt;
  chart.settings = {{"metric", "time against the median"},
                    {"merged", true},
                    {"across", "cell"},
                    {"least", std::min(least, -100 * fleet.rule.margin)},
                    {"most", std::max(most, 100 * fleet.rule.margin)}};
  for (const std::string& line : headings.shared) chart.conditions += fmt::format(" {}.", line);
  std::vector<std::string> names;
  for (const OddNode& node : fleet.odd) names.push_back(node.name);
  chart.summary = fmt::format(
      "{} nodes, from {:.1f}% less to {:.1f}% more time than the fleet's median. Framed: cells in "
      "which a node is an outlier. {}",
      fleet.rows.size(), std::abs(least), most,
      names.empty() ? "No node is an outlier."
                    : fmt::format("Outliers: {}.", fmt::join(names, ", ")));
  return chart;
}

}  // namespace

Table fleet_table(const Fleet& fleet) {
  const Keys keys = keys_of(fleet);
  const Headings headings = headings_of(keys);
  Table table;
  table.id = "cells-table";
  table.caption = "Time of each node against the fleet's median";
  table.columns = {{"node", "node"}, {"outlier", "outlier"}};
  table.shared = headings.shared;
  std::map<SeriesKey, std::size_t> places;
  for (const auto& [key, varies] : keys) {
    places[key] = table.columns.size();
    table.columns.push_back({fmt::format("{} {}", key.cell, key.metric),
                             headings.of_key.at(key),
                             ColumnKind::change,
                             "1",
                             1,
                             {},
                             !varies});
  }
  for (const NodeRow& row : fleet.rows) {
    std::vector<Field> fields(table.columns.size());
    fields[0] = row.name;
    const auto odd = std::ranges::find(fleet.odd, row.name, &OddNode::name);
    if (odd != fleet.odd.end()) fields[1] = "yes";
    for (const NodeCell& cell : row.cells) fields[places.at(cell.key)] = cell.slower - 1;
    table.rows.push_back(std::move(fields));
  }
  return table;
}

Document fleet_document(const Fleet& fleet, const std::string& headline, const std::string& time) {
  Document document;
  document.question = fmt::format("Are these {} nodes alike?", fleet.nodes);
  const bool alike = fleet.odd.empty() && fleet.splits.empty();
  document.answers = {{.lead = fleet.emulated ? std::string(of_a_model) : "",
                       .sentence = headline + ".",
                       .proven = !alike || fleet.open.empty()}};
  for (const OddNode& node : fleet.odd) {
    for (const std::string& fault : node.faults) {
      document.notes.push_back(fmt::format("{} failed {}", node.name, fault));
    }
    if (!node.missing.empty()) {
      document.notes.push_back(
          fmt::format("{} lacks {}", node.name, fmt::join(node.missing, ", ")));
    }
  }
  for (const std::string& problem : fleet.problems) document.notes.push_back(problem);
  if (auto chart = heat_map(fleet)) {
    chart->table.id = "picture";
    document.picture = MainChart{std::move(*chart), "All cells", "cells"};
  }
  Chapter cells{"cells", "Nodes by cells", "Cells"};
  cells.paragraphs = {fmt::format(
      "Numbers are changes of time against the median of all nodes: above zero is slower. Columns "
      "in which no node is beyond {:.2g}% are hidden until \"all columns\" is ticked.",
      100 * fleet.rule.margin)};
  cells.blocks.emplace_back(fleet_table(fleet));
  document.chapters.push_back(std::move(cells));
  document.made_by = fmt::format("assay {} ({}), {}", version(), git_hash(), time);
  return document;
}

}  // namespace assay::report
