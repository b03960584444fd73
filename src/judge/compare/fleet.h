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
  /// A node whose time differs from the fleet's median by a smaller share is never an outlier.
  double margin = 0.02;
  /// Probability that nodes which are all alike yield any outlier or fall into groups.
  double alpha = 0.05;
};

/// A node's value in one series (a metric of a cell), compared with the fleet's.
struct NodeCell {
  SeriesKey key;
  std::string unit;   ///< of `value` and `median`, as in Series::unit
  double value = 0;   ///< the node's value, the median of its runs
  double median = 0;  ///< the median of the fleet
  double slower = 1;  ///< the node's time over the median's: above 1 means slower
  double p = 1;       ///< outlier_p() (statistics/outliers.h), not corrected; `detectable` decides
  /// The node is an outlier if `slower` is at least this ratio, or at most its inverse. It is the
  /// larger of 1 + margin and the ratio that is significant at the level to which Holm's correction
  /// over all nodes, series and tests for groups leads. Infinite if nothing can be detected.
  double detectable = std::numeric_limits<double>::infinity();
  bool split = false;  ///< the nodes fall into two groups there (SplitCell)

  /// Returns whether the node is an outlier in this series.
  bool odd() const { return !split && distance() >= 1; }
  /// Returns the distance from the fleet, on a logarithmic scale on which `detectable` is 1.
  double distance() const { return std::abs(std::log(slower)) / std::log(detectable); }
};

/// A node that could be read and is an outlier in a series, failed a cell or lacks a series. Nodes
/// that could be read and are no outlier and failed nothing are called sound, even if they lack
/// some.
struct OddNode {
  std::string name;
  std::vector<NodeCell> cells;      ///< series in which it is an outlier, the slowest first
  std::vector<std::string> faults;  ///< cells it failed: "memory op=triad: failed: ..."
  /// Series that more than half of all nodes, unreadable ones included, have but this node lacks,
  /// also because it failed their cell: "memory op=triad bandwidth".
  std::vector<std::string> missing;
  /// Differences from Fleet::typical that at most a quarter of the sound nodes with a fingerprint
  /// share, without identities such as names and serial numbers. Empty if this node has no
  /// fingerprint or no node is typical.
  std::vector<Difference> differences;
};

/// Nodes that are alike in a series and differ there from the other nodes.
struct NodeGroup {
  std::vector<std::string> nodes;  ///< names
  double value = 0;                ///< the median of their values
};

/// A series in which the nodes fall into two groups. It cannot be told which group is normal, so no
/// node is an outlier there.
struct SplitCell {
  SeriesKey key;
  std::string unit;
  NodeGroup fast, slow;
  double slower = 1;  ///< the slow group's time over the fast one's
  double p = 1;       ///< p of this test alone; Holm's correction over all tests decides
};

/// A node with all its series.
struct NodeRow {
  std::string name;
  std::vector<NodeCell> cells;  ///< sorted by key
};

struct Fleet {
  bool emulated = false;  ///< all devices are emulated, so values come from a model
  FleetRule rule;
  std::size_t nodes = 0;   ///< number of nodes that could be read
  std::size_t series = 0;  ///< number of series that any node has
  /// Name of the sound node with a fingerprint that is nearest to the fleet's medians, summed over
  /// all series. Empty if there is none, as in a fleet of imported results.
  std::string typical;
  std::vector<OddNode> odd;       ///< sorted by name
  std::vector<SplitCell> splits;  ///< sorted by key
  /// Series too noisy to judge, sorted by key, each with the name of the node that is farthest from
  /// the median there. This node is beyond the margin, but no node is an outlier, the nodes are not
  /// split, and only differences above five margins would be detected.
  std::vector<std::pair<std::string, NodeCell>> open;
  /// The name of every node that has results, outlier or not, with the series in which
  /// NodeCell::distance() is largest; the farthest node first.
  std::vector<std::pair<std::string, NodeCell>> farthest;
  std::vector<NodeRow> rows;  ///< every node that has results, sorted by name
  /// Why nodes could not be read, up to three remarks about each other node's results and how many
  /// more there are, and values left out because they are not positive numbers.
  std::vector<std::string> problems;
};

/// `folders` are several nodes, each a store or a folder of files to import, or one folder that
/// holds such folders. `progress`, unless empty, is called with the number of nodes read, by
/// several threads at once, so that numbers may arrive out of order. A node that cannot be read is
/// a problem of the fleet. Error: as check_access() (core/input_file.h) and read_fleet()
/// (fleet_nodes.h); usage, if a path is no folder, if only some nodes are emulated, or if fewer
/// than 4 could be read, which are too few to tell what is normal.
Result<Fleet> judge_fleet(const std::vector<std::filesystem::path>& folders, const FleetRule& rule,
                          const std::function<void(std::size_t read, std::size_t of)>& progress);

}  // namespace assay
