#include "judge/report/fleet_document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/version.h"
#include "judge/compare/emulated.h"

namespace assay::report {
namespace {

/// Words of a cell, "size=1GiB": those that all cells share are left out of headings.
std::vector<std::string> words_of(const SeriesKey& key) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (at < key.cell.size()) {
    const std::size_t end = std::min(key.cell.find(' ', at), key.cell.size());
    words.push_back(key.cell.substr(at, end - at));
    at = end + 1;
  }
  words.push_back(key.metric);
  return words;
}

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

/// Headings without the words that all columns share; a single column keeps all.
std::map<SeriesKey, std::string> headings_of(const Keys& keys) {
  std::map<std::string, std::size_t> uses;
  for (const auto& [key, varies] : keys) {
    const std::vector<std::string> words = words_of(key);
    for (const std::string& word : std::set<std::string>(words.begin(), words.end())) ++uses[word];
  }
  std::map<SeriesKey, std::string> headings;
  for (const auto& [key, varies] : keys) {
    std::vector<std::string> words = words_of(key);
    if (keys.size() > 1) {
      std::erase_if(words, [&](const std::string& word) { return uses[word] == keys.size(); });
    }
    headings[key] = fmt::format("{}", fmt::join(words, " "));
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
  const auto headings = headings_of(keys);
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
          {row.name, headings.at(cell.key), percent,
           is_outlier(fleet, row.name, cell.key) ? Field("outlier") : Field()});
    }
  }
  if (chart.table.rows.empty()) return std::nullopt;
  chart.settings = {{"metric", "time against the median"},
                    {"merged", true},
                    {"across", "cell"},
                    {"least", std::min(least, -100 * fleet.rule.margin)},
                    {"most", std::max(most, 100 * fleet.rule.margin)}};
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
  const auto headings = headings_of(keys);
  Table table;
  table.id = "cells-table";
  table.caption = "Time of each node against the fleet's median";
  table.columns = {{"node", "node"}, {"outlier", "outlier"}};
  std::map<SeriesKey, std::size_t> places;
  for (const auto& [key, varies] : keys) {
    places[key] = table.columns.size();
    table.columns.push_back({fmt::format("{} {}", key.cell, key.metric),
                             headings.at(key),
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
