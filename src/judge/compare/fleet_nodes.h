// Reads the nodes of a fleet: one value per node and series.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "judge/compare/result_set.h"

namespace assay {

/// What one folder of results holds.
struct FleetNode {
  std::string name;
  /// Indices of FleetNodes::series, ascending, and the medians of the node's runs there.
  std::vector<std::pair<std::size_t, double>> values;
  std::vector<std::string> faults;  ///< "CELL: why it cannot be judged"
  Json fingerprint;                 ///< null if there is none
  bool emulated = false;            ///< its values come from a model
  std::string problem;              ///< why it could not be read; empty if it was
  std::vector<std::string> notes;   ///< up to three remarks about its results, and how many more
};

/// A series, as the first node that was read with it describes it.
struct FleetSeries {
  SeriesKey key;
  std::string unit;
  Better better = Better::higher;
};

struct FleetNodes {
  std::vector<FleetNode> nodes;     ///< sorted by name
  std::vector<FleetSeries> series;  ///< every series that any node has, sorted by key
};

/// Reads `folders`, or every folder in the only one, with as many threads as this machine has
/// processors. They call `progress`, unless it is empty, concurrently. Error: as list_folder()
/// (core/input_file.h), or usage if two folders have the same name.
Result<FleetNodes> read_fleet(
    const std::vector<std::filesystem::path>& folders,
    const std::function<void(std::size_t read, std::size_t of)>& progress);

}  // namespace assay
