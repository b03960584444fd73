// A cell of a suite that runs another program: its command line, and the rules that find numbers in
// its output. Without format and metrics, the number is the program's run time.
//
//   - command: [all_reduce_perf, -b, 8, -e, 1G, -f, 2]
//     name: rccl_all_reduce
//     format: nccl-tests          # an importer's name, or instead of it:
//     metrics:
//       - {name: busbw, regex: 'Avg bus bandwidth\s*:\s*(\S+)', unit: GB/s, better: higher}
//       - {name: mean_ttft, json: /mean_ttft_ms, unit: ms, better: lower}
//     file: result.json           # read instead of its standard output; deleted before it starts;
//                                 # relative to the working directory
//     variables: {NCCL_DEBUG: WARN}   # added to the environment variables
//     timeout: 10min              # the default
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json_fwd.h"
#include "core/result.h"
#include "core/yaml_text.h"

namespace assay {

/// One number in a program's output; exactly one of `json` and `regex` is set.
struct MetricRule {
  std::string name;  ///< 1 to 64 letters, digits, _ - . without . in front
  /// JSON pointer (RFC 6901) into the output or, if that is not JSON as a whole, into its last line
  /// that is.
  std::string json;
  std::string regex;   ///< in Perl's syntax; group 1 of the last line that matches is the number
  std::string unit;    ///< one that measured_unit() knows: "GB/s", "ms"; records are in SI units
  std::string better;  ///< "higher", "lower" or "neither"
};

struct ExternalCommand {
  static constexpr double default_timeout = 600;

  /// Name of the cell: 1 to 64 letters, digits, _ - . without . in front, and no benchmark's.
  std::string name;
  std::vector<std::string> words;   ///< the program and its arguments; "assay" is this program
  std::string format;               ///< a name in importers(), "nccl-tests"; empty: use `metrics`
  std::vector<MetricRule> metrics;  ///< `format` and this empty: the run time is the result
  std::string file;                 ///< file with the output to read; empty: standard output
  /// Names and values of variables that are added to its environment.
  std::vector<std::pair<std::string, std::string>> variables;
  double timeout_seconds = default_timeout;
};

/// Reads a command of a suite. Whether `format` is known is checked later, by check_formats().
/// Error: usage, "FILE:LINE: ...".
Result<ExternalCommand> read_external_command(const YamlValue& value, std::string_view file);
/// The command as a JSON map in the format above. JSON is also valid YAML.
Json to_json(const ExternalCommand& command);

}  // namespace assay
