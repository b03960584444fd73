// Gates: thresholds by which programs pass or fail a machine, and which of them can never fail.
// Reads threshold files of ROCm's Cluster Validation Suite (cvs), configurations of the ROCm
// Validation Suite (RVS), of node health checks (NHC), and assay's own limits.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay::health {

enum class GateState {
  gates,         ///< some machines pass, others fail
  never_fails,   ///< every machine passes
  never_passes,  ///< no machine passes
  records_only,  ///< the file says that the value is only recorded
};
std::string_view name_of(GateState state);  ///< "never fails"

/// One threshold of a file.
struct Gate {
  std::string name;   ///< "ISL=1024,OSL=1024: client.mean_ttft_ms"
  std::string limit;  ///< "at most 1000000"
  GateState state = GateState::gates;
  std::string why;  ///< empty if it gates
  /// The value is 0 or at least 1,000,000, the usual marks of a threshold that nobody has set.
  bool placeholder = false;
};

/// The thresholds of one file.
struct GateFile {
  std::string file;    ///< its path
  std::string format;  ///< "cvs", "RVS", "NHC", "assay"; empty if it could not be read
  std::vector<Gate> gates;
  /// The value of enforce_thresholds in cvs's configuration beside the file; empty: there is none.
  std::optional<bool> enforced;
  std::size_t without_limit = 0;  ///< tests in the file that have no limit at all
  std::string problem;            ///< why it could not be read

  std::size_t count(GateState state) const;
};

/// Parses the text of one file, whose name decides between JSON and the other formats; nullopt if
/// it has no gates of a known format. Error: usage, naming the file, if it is malformed.
Result<std::optional<GateFile>> parse_gates(std::string_view text, const std::string& file);

/// Reads files, and all .json, .conf, .yaml and .yml files below folders, sorted by path. In a
/// folder, files without gates are left out, and malformed ones get a `problem`. Error: usage, if a
/// named file is malformed or has no gates, or if nothing would be returned; file, if a folder
/// cannot be listed; as read_operand() (core/read_file.h) for any file.
Result<std::vector<GateFile>> read_gates(const std::vector<std::string>& paths);

}  // namespace assay::health
