#include "judge/compare/fleet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <span>

#include "core/input_file.h"
#include "core/json.h"
#include "judge/compare/emulated.h"
#include "judge/compare/fleet_nodes.h"
#include "results/store/comparable_metrics.h"
#include "statistics/multiplicity.h"
#include "statistics/outliers.h"
#include "statistics/summary.h"
#include "statistics/two_groups.h"

namespace assay {
namespace {

constexpr std::size_t least_nodes = 4;
/// A difference that more than this share of the sound nodes has explains nothing.
constexpr double common = 0.25;
/// If the detectable difference of a cell exceeds this many margins, the cell cannot judge nodes
/// between the two.
constexpr double far = 5;

/// One series over the fleet.
struct Column {
  std::vector<std::size_t> nodes;
  std::vector<double> logs;  ///< logarithms of times
  double median = 0;         ///< median of the logs
};

std::vector<Column> columns_of(const FleetNodes& fleet, std::vector<std::string>& problems) {
  std::vector<Column> columns(fleet.series.size());
  for (std::size_t node = 0; node < fleet.nodes.size(); ++node) {
    for (const auto& [series, value] : fleet.nodes[node].values) {
      const auto log = log_time(value, fleet.series[series].better);
      if (!log) {
        problems.push_back(fmt::format("{}: {} is {}, left out", fleet.nodes[node].name,
                                       fleet.series[series].key.cell, value));
        continue;
      }
      columns[series].nodes.push_back(node);
      columns[series].logs.push_back(*log);
    }
  }
  for (Column& column : columns) {
    if (!column.logs.empty()) column.median = median(column.logs);
  }
  return columns;
}

/// The findings about the nodes in each cell.
struct Findings {
  std::vector<std::vector<NodeCell>> cells;  ///< every cell of every node, by node and series
  std::vector<SplitCell> splits;
  std::vector<std::pair<std::string, NodeCell>> open;
};

/// Judges all columns together, with one correction over all tests of nodes and groups.
class Judge {
 public:
  Judge(const FleetNodes& fleet, const std::vector<Column>& columns, const FleetRule& rule)
      : fleet_(fleet), columns_(columns), rule_(rule) {
    findings_.cells.resize(fleet.nodes.size());
  }

  Findings run() {
    std::vector<double> p;
    for (const Column& column : columns_) {
      const std::vector<double> of_column = outlier_p(column.logs);
      p.insert(p.end(), of_column.begin(), of_column.end());
    }
    std::vector<std::optional<TwoGroups>> groups;
    const std::size_t of_nodes = p.size();
    for (const Column& column : columns_) {
      groups.push_back(two_groups(column.logs));
      p.push_back(groups.back() ? groups.back()->p : 1);
    }
    const std::vector<bool> rejected = holm(p, rule_.alpha);
    // Holm's procedure stops at this level: rejected hypotheses have at most this p, all others
    // more.
    const auto kept = std::count(rejected.begin(), rejected.end(), false);
    level_ = rule_.alpha / static_cast<double>(std::max<std::ptrdiff_t>(kept, 1));
    std::size_t at = 0;
    for (std::size_t series = 0; series < columns_.size(); ++series) {
      const std::size_t size = columns_[series].nodes.size();
      auto cells = cells_of(series, std::span(p).subspan(at, size));
      at += size;
      const bool apart = rejected[of_nodes + series] && is_split(*groups[series], cells);
      if (apart) findings_.splits.push_back(split_of(series, *groups[series]));
      if (!apart) note_if_open(series, cells);
      for (NodeCell& cell : cells) cell.split = apart;
      for (std::size_t i = 0; i < size; ++i) {
        findings_.cells[columns_[series].nodes[i]].push_back(cells[i]);
      }
    }
    return std::move(findings_);
  }

 private:
  double sign(std::size_t series) const {
    return fleet_.series[series].better == Better::higher ? -1 : 1;
  }
  const std::string& name(std::size_t series, std::size_t i) const {
    return fleet_.nodes[columns_[series].nodes[i]].name;
  }

  /// Returns the cells of the column's nodes.
  std::vector<NodeCell> cells_of(std::size_t series, std::span<const double> p) const {
    const Column& column = columns_[series];
    const auto distance = outlier_distance(column.logs, level_);
    const double detectable = distance ? std::max(std::exp(*distance), 1 + rule_.margin)
                                       : std::numeric_limits<double>::infinity();
    std::vector<NodeCell> cells;
    for (std::size_t i = 0; i < column.nodes.size(); ++i) {
      cells.push_back({fleet_.series[series].key, fleet_.series[series].unit,
                       std::exp(sign(series) * column.logs[i]),
                       std::exp(sign(series) * column.median),
                       std::exp(column.logs[i] - column.median), p[i], detectable});
    }
    return cells;
  }

  /// Returns false if the groups are closer than the margin, or if the smaller one consists of
  /// outliers.
  bool is_split(const TwoGroups& groups, const std::vector<NodeCell>& cells) const {
    if (groups.distance < std::log1p(rule_.margin)) return false;
    const auto& smaller = groups.low.size() < groups.high.size() ? groups.low : groups.high;
    return !std::ranges::all_of(smaller, [&](std::size_t i) { return cells[i].odd(); });
  }

  SplitCell split_of(std::size_t series, const TwoGroups& groups) const {
    const auto group = [&](const std::vector<std::size_t>& members) {
      NodeGroup made;
      std::vector<double> logs;
      for (const std::size_t i : members) {
        made.nodes.push_back(name(series, i));
        logs.push_back(columns_[series].logs[i]);
      }
      made.value = std::exp(sign(series) * median(std::move(logs)));
      return made;
    };
    return {fleet_.series[series].key, fleet_.series[series].unit, group(groups.low),
            group(groups.high),        std::exp(groups.distance),  groups.p};
  }

  void note_if_open(std::size_t series, const std::vector<NodeCell>& cells) {
    if (cells.empty() || std::ranges::any_of(cells, &NodeCell::odd)) return;
    const auto away = [](const NodeCell& cell) { return std::abs(std::log(cell.slower)); };
    const auto farthest = std::ranges::max_element(cells, {}, away);
    if (away(*farthest) <= std::log1p(rule_.margin)) return;
    if (farthest->detectable <= 1 + far * rule_.margin) return;
    findings_.open.emplace_back(name(series, static_cast<std::size_t>(farthest - cells.begin())),
                                *farthest);
  }

  const FleetNodes& fleet_;
  const std::vector<Column>& columns_;
  const FleetRule& rule_;
  double level_ = 0;
  Findings findings_;
};

std::vector<NodeCell> odd_among(const std::vector<NodeCell>& cells) {
  std::vector<NodeCell> odd;
  std::ranges::copy_if(cells, std::back_inserter(odd), &NodeCell::odd);
  std::ranges::sort(odd, std::ranges::greater(), &NodeCell::slower);
  return odd;
}

std::vector<std::pair<std::string, NodeCell>> farthest_of(
    const FleetNodes& fleet, const std::vector<std::vector<NodeCell>>& cells) {
  std::vector<std::pair<std::string, NodeCell>> farthest;
  for (std::size_t node = 0; node < fleet.nodes.size(); ++node) {
    if (cells[node].empty()) continue;
    farthest.emplace_back(fleet.nodes[node].name,
                          *std::ranges::max_element(cells[node], {}, &NodeCell::distance));
  }
  std::ranges::stable_sort(farthest, std::ranges::greater(),
                           [](const auto& entry) { return entry.second.distance(); });
  return farthest;
}

/// Returns cells that more than half of the nodes have but this node lacks.
std::vector<std::string> missing_cells(std::size_t node, const FleetNodes& fleet,
                                       const std::vector<Column>& columns) {
  std::vector<std::string> missing;
  for (std::size_t series = 0; series < columns.size(); ++series) {
    const std::vector<std::size_t>& nodes = columns[series].nodes;
    if (2 * nodes.size() <= fleet.nodes.size()) continue;
    if (!std::binary_search(nodes.begin(), nodes.end(), node)) {
      missing.push_back(fleet.series[series].key.cell + " " + fleet.series[series].key.metric);
    }
  }
  return missing;
}

/// Returns the sound node nearest to the medians, summed over all series; the number of nodes if
/// there is none.
std::size_t typical_node(const FleetNodes& fleet, const std::vector<Column>& columns,
                         const std::vector<bool>& sound) {
  std::vector<double> distance(fleet.nodes.size(), 0);
  for (const Column& column : columns) {
    for (std::size_t i = 0; i < column.nodes.size(); ++i) {
      distance[column.nodes[i]] += std::abs(column.logs[i] - column.median);
    }
  }
  std::size_t best = fleet.nodes.size();
  for (std::size_t node = 0; node < fleet.nodes.size(); ++node) {
    if (!sound[node] || fleet.nodes[node].fingerprint.is_null()) continue;
    if (best == fleet.nodes.size() || distance[node] < distance[best]) best = node;
  }
  return best;
}

/// Returns a difference from the typical node as text; equal differences have equal texts.
std::string key_of(const Difference& difference) {
  return difference.path + "\n" + json_line(difference.b);
}

/// Keeps those differences between an outlier and the typical node that few sound nodes share.
void explain(const FleetNodes& fleet, const std::vector<bool>& sound, std::size_t typical,
             const std::map<std::size_t, OddNode*>& odd) {
  const Json& usual = fleet.nodes[typical].fingerprint;
  std::map<std::string, std::size_t> shared;
  std::size_t witnesses = 0;
  for (std::size_t node = 0; node < fleet.nodes.size(); ++node) {
    if (!sound[node] || fleet.nodes[node].fingerprint.is_null()) continue;
    ++witnesses;
    for (const Difference& difference : diff_fingerprints(usual, fleet.nodes[node].fingerprint)) {
      ++shared[key_of(difference)];
    }
  }
  for (const auto& [node, entry] : odd) {
    if (fleet.nodes[node].fingerprint.is_null()) continue;
    for (Difference& difference : diff_fingerprints(usual, fleet.nodes[node].fingerprint)) {
      if (difference.likelihood == Likelihood::identity) continue;
      const auto at = shared.find(key_of(difference));
      const std::size_t sharing = at == shared.end() ? 0 : at->second;
      if (static_cast<double>(sharing) > common * static_cast<double>(witnesses)) continue;
      entry->differences.push_back(std::move(difference));
    }
  }
}

std::vector<std::string> folder_names(const std::vector<std::filesystem::path>& folders) {
  std::vector<std::string> names;
  for (const std::filesystem::path& folder : folders) names.push_back(folder.string());
  return names;
}

/// Returns whether the nodes are emulated. Error: usage, if only some are.
Result<bool> all_emulated(const std::vector<FleetNode>& nodes) {
  const FleetNode* first = nullptr;
  for (const FleetNode& node : nodes) {
    if (!node.problem.empty()) continue;
    if (first == nullptr) first = &node;
    if (node.emulated == first->emulated) continue;
    return mixture(node.emulated ? node.name : first->name,
                   node.emulated ? first->name : node.name);
  }
  return first != nullptr && first->emulated;
}

}  // namespace

Result<Fleet> judge_fleet(const std::vector<std::filesystem::path>& folders, const FleetRule& rule,
                          const std::function<void(std::size_t, std::size_t)>& progress) {
  std::error_code ignored;
  for (const std::filesystem::path& folder : folders) {
    TRY(check_access(folder));
    if (std::filesystem::is_directory(folder, ignored)) continue;
    return Error{ErrorKind::usage,
                 fmt::format("{} is not a folder; give one that holds a folder of "
                             "results for each node, or the folders of the nodes",
                             folder.string())};
  }
  const FleetNodes read = TRY(read_fleet(folders, progress));
  Fleet fleet;
  fleet.rule = rule;
  fleet.series = read.series.size();
  for (const FleetNode& node : read.nodes) {
    if (node.problem.empty()) ++fleet.nodes;
    if (!node.problem.empty()) fleet.problems.push_back(node.name + ": " + node.problem);
    for (const std::string& note : node.notes) fleet.problems.push_back(node.name + ": " + note);
  }
  if (fleet.nodes < least_nodes) {
    return Error{
        ErrorKind::usage,
        fmt::format("{} holds results of {} nodes; at least {} are needed to tell what is normal{}",
                    fmt::join(folder_names(folders), ", "), fleet.nodes, least_nodes,
                    fleet.problems.empty() ? "" : " (" + fleet.problems.front() + ")")};
  }
  fleet.emulated = TRY(all_emulated(read.nodes));
  const std::vector<Column> columns = columns_of(read, fleet.problems);
  Findings findings = Judge(read, columns, rule).run();
  const auto& cells = findings.cells;
  fleet.splits = std::move(findings.splits);
  fleet.open = std::move(findings.open);
  fleet.farthest = farthest_of(read, cells);
  for (std::size_t node = 0; node < read.nodes.size(); ++node) {
    if (!cells[node].empty()) fleet.rows.push_back({read.nodes[node].name, cells[node]});
  }
  std::vector<bool> sound(read.nodes.size(), true);
  for (std::size_t node = 0; node < read.nodes.size(); ++node) {
    const FleetNode& facts = read.nodes[node];
    OddNode odd{facts.name, odd_among(cells[node]), facts.faults, {}, {}};
    if (facts.problem.empty()) odd.missing = missing_cells(node, read, columns);
    sound[node] = facts.problem.empty() && odd.cells.empty() && odd.faults.empty();
    if (!facts.problem.empty() || (sound[node] && odd.missing.empty())) continue;
    fleet.odd.push_back(std::move(odd));
  }
  const std::size_t typical = typical_node(read, columns, sound);
  if (typical < read.nodes.size()) {
    fleet.typical = read.nodes[typical].name;
    std::map<std::size_t, OddNode*> by_node;
    for (OddNode& odd : fleet.odd) {
      const auto at = std::lower_bound(
          read.nodes.begin(), read.nodes.end(), odd.name,
          [](const FleetNode& node, const std::string& name) { return node.name < name; });
      by_node[static_cast<std::size_t>(at - read.nodes.begin())] = &odd;
    }
    explain(read, sound, typical, by_node);
  }
  return fleet;
}

}  // namespace assay
