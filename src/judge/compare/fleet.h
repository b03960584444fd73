// Judges many machines that should be alike: finds the outliers, the cells in which they differ,
// and possible explanations.
#pragma once

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "judge/compare/fingerprint_diff.h"
#include "judge/compare/result_set.h"

namespace assay {

struct FleetRule {
  double margin = 0.02;  ///< a node closer to the fleet's median than this is never an outlier
  /// Probability that a sound fleet has any outlier or falls into groups.
  double alpha = 0.05;
};

/// A node's value in one cell, compared with the fleet's.
struct NodeCell {
  SeriesKey key;
  std::string unit;
  double value = 0;   ///< the node's value, the median of its runs
  double median = 0;  ///< the median of the fleet
  double slower = 1;  ///< the node's time over the median's: above 1 means slower
  double p = 1;       ///< p of this test alone; Holm's correction over all nodes and cells decides
  /// From this ratio of times on, or its inverse, the node is an outlier. It is beyond the margin
  /// and beyond what the fleet's spread and Holm's correction can resolve. Infinite if nothing can
  /// be detected.
  double detectable = std::numeric_limits<double>::infinity();

  bool odd() const { return distance() >= 1; }
  /// Returns the distance from the fleet, on a logarithmic scale on which `detectable` is 1.
  double distance() const { return std::abs(std::log(slower)) / std::log(detectable); }
};

struct OddNode {
  std::string name;
  std::vector<NodeCell> cells;       ///< the slowest first
  std::vector<std::string> faults;   ///< cells it failed: "memory op=triad: failed: ..."
  std::vector<std::string> missing;  ///< cells that most nodes have but this one lacks
  /// Differences from the most typical node that at most a quarter of the sound nodes share.
  std::vector<Difference> differences;
};

/// Nodes that are alike in a cell and differ there from the other nodes.
struct NodeGroup {
  std::vector<std::string> nodes;
  double value = 0;  ///< their median
};

/// A cell in which the nodes fall into two groups. It cannot be told which group is normal, so no
/// node is an outlier there.
struct SplitCell {
  SeriesKey key;
  std::string unit;
  NodeGroup fast, slow;
  double slower = 1;  ///< the slow group's time over the fast one's
  double p = 1;       ///< p of this test alone; Holm's correction over all tests decides
};

/// A node with all its cells.
struct NodeRow {
  std::string name;
  std::vector<NodeCell> cells;  ///< in the order of FleetNodes::series
};

struct Fleet {
  bool emulated = false;  ///< all devices are emulated, so values come from a model
  FleetRule rule;
  std::size_t nodes = 0;
  std::size_t series = 0;
  std::string typical;       ///< the sound node nearest to the fleet's medians
  std::vector<OddNode> odd;  ///< sorted by name
  std::vector<SplitCell> splits;
  /// Cells that cannot tell whether the nodes are alike, each with the node that is farthest from
  /// the fleet there. This node is beyond the margin, but only far larger differences would be
  /// detected.
  std::vector<std::pair<std::string, NodeCell>> open;
  /// Every node, outlier or not, with the cell in which it is farthest from the fleet; the farthest
  /// first.
  std::vector<std::pair<std::string, NodeCell>> farthest;
  std::vector<NodeRow> rows;  ///< every node that has results, sorted by name
  std::vector<std::string> problems;
};

/// `folders` are several nodes, each a store or a folder of imported files, or one folder that
/// holds such folders. `progress`, if not empty, is called from any thread with the number of nodes
/// read. A node that cannot be read is a problem of the fleet. Error: as check_access() and
/// read_fleet(); usage, if a path is no folder, if only some nodes are emulated, or if fewer than 4
/// could be read, which are too few to tell what is normal.
Result<Fleet> judge_fleet(const std::vector<std::filesystem::path>& folders, const FleetRule& rule,
                          const std::function<void(std::size_t read, std::size_t of)>& progress);

}  // namespace assay
