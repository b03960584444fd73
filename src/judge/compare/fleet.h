// Many machines that should be alike: which of them are not, in which cells, and what may explain
// it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "judge/compare/result_set.h"
#include "machine/system/fingerprint_diff.h"

namespace assay {

struct FleetRule {
  double margin = 0.02;  ///< a node nearer to the fleet's median than this is never odd
  double alpha = 0.05;   ///< chance that any node of a sound fleet is called odd
};

/// A cell in which a node is odd.
struct OddCell {
  SeriesKey key;
  std::string unit;
  double value = 0;   ///< of the node: the median of its runs
  double median = 0;  ///< of the fleet
  double slower = 1;  ///< the node's time over the median's: above 1 is slower
  double p = 1;       ///< of one test; the decision is Holm's over all nodes and cells
};

struct OddNode {
  std::string name;
  std::vector<OddCell> cells;        ///< the slowest first
  std::vector<std::string> faults;   ///< cells it failed: "memory op=triad: failed: ..."
  std::vector<std::string> missing;  ///< cells that most nodes have and it has not
  /// From the most typical node, those that at most a quarter of the sound nodes share.
  std::vector<Difference> differences;
};

struct Fleet {
  bool emulated = false;  ///< all nodes' devices are: it is a model's fleet
  FleetRule rule;
  std::size_t nodes = 0;
  std::size_t series = 0;
  std::string typical;       ///< the sound node nearest to the fleet's medians
  std::vector<OddNode> odd;  ///< by name
  std::vector<std::string> problems;
};

/// `folder` holds a store or a folder of imported files per node. `progress` hears how many nodes
/// are read, from any thread; an empty one is not called. Error: usage: no folder, or fewer than 4
/// nodes, the least that can say what is usual.
Result<Fleet> judge_fleet(const std::filesystem::path& folder, const FleetRule& rule,
                          const std::function<void(std::size_t read, std::size_t of)>& progress);

}  // namespace assay
