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

struct FleetNode {
  std::string name;
  std::vector<std::pair<std::size_t, double>> values;  ///< number and value, by series
  std::vector<std::string> faults;                     ///< "CELL: why it cannot be judged"
  Json fingerprint;                                    ///< null if there is none
  bool emulated = false;                               ///< its values come from a model
  std::string problem;             ///< why it could not be read; empty if it was
  std::vector<std::string> notes;  ///< a few remarks about its results
};

struct FleetSeries {
  SeriesKey key;
  std::string unit;
  Better better = Better::higher;
};

struct FleetNodes {
  std::vector<FleetNode> nodes;  ///< sorted by name
  std::vector<FleetSeries> series;
};

/// Reads `folders`, or every folder in the only one, with as many threads as this machine has
/// processors. Error: as list_folder() (core/input_file.h), or usage if two folders have the same
/// name.
Result<FleetNodes> read_fleet(
    const std::vector<std::filesystem::path>& folders,
    const std::function<void(std::size_t read, std::size_t of)>& progress);

}  // namespace assay
