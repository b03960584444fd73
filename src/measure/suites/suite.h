// Suites: named lists of cells as YAML files, embedded in the binary (suites/*.yaml) or given by
// path.
//
//   name: quick
//   description: one line
//   budget: 60s            # optional, for the whole suite
//   cells:
//     - benchmark: memory
//       axes: {op: [copy, triad], size: 64MiB..1GiB*4, dtype: f64}
//     - command: [all_reduce_perf, -b, 8]   # another program: grid/external_command.h
//       name: rccl_all_reduce
//       format: nccl-tests
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/yaml_text.h"
#include "measure/grid/axis.h"
#include "measure/grid/benchmark.h"
#include "measure/grid/external_command.h"
#include "results/record/cell.h"

namespace assay {

/// An item of `cells`: one benchmark with settings for some of its axes, or a command.
struct SuiteEntry {
  struct Setting {
    AxisSetting setting;
    int line = 0;  ///< in the suite's file, from 1
  };
  std::string benchmark;
  std::vector<Setting> settings;
  std::optional<ExternalCommand> command;  ///< if set, `benchmark` is empty
  int line = 0;                            ///< in the suite's file, from 1
};

struct Suite {
  std::string name;
  std::string description;
  std::optional<double> budget_seconds;  ///< wall-clock time for the whole suite; empty: no limit
  std::vector<SuiteEntry> entries;
  std::string file;  ///< name for messages: "quick.yaml" or the given path
};

/// Reads a map of axes to values or lists of values; whether a benchmark has them is checked by
/// cells_of(). Error: usage, "file:line: ...".
Result<std::vector<SuiteEntry::Setting>> read_axis_settings(const YamlValue& axes,
                                                            std::string_view file);
/// Reads a list of cells, the value of `cells`. Error: usage, "file:line: ...".
Result<std::vector<SuiteEntry>> read_suite_cells(const YamlValue& cells, std::string_view file);
/// Parses a suite. Error: usage, "file:line: what is wrong; what is allowed".
Result<Suite> parse_suite(std::string_view yaml, std::string_view file);
/// Loads a suite file. A file whose name ends neither in .yaml nor in .yml may hold command lines
/// of MIOpenDriver instead. Error: as read_operand() (core/read_file.h), parse_suite() or
/// suite_of_driver_commands() (miopen_driver.h).
Result<Suite> load_suite(const std::string& path);
/// The suites embedded in the binary, sorted by name. Error: usage, if an embedded suite is
/// malformed, which is a mistake in assay.
Result<std::vector<Suite>> built_in_suites();

using BenchmarkLookup = std::function<const Benchmark*(std::string_view)>;

/// The suite with overrides applied and without its budget, as one line that parse_suite() reads,
/// so that it can be passed as an argument to a process on another machine. A campaign's
/// units get the sum of their suites' budgets as an option, if each suite has one and the plan has
/// neither cells nor a load of its own. An entry whose benchmark `lookup` does not know keeps its
/// axes, and overrides replace them.
std::string inline_text(const Suite& suite, const std::vector<AxisSetting>& overrides,
                        const BenchmarkLookup& lookup = find_benchmark);

/// The cells of all entries in order, each once; a command's cell has its name and no axes. An
/// override replaces its axis in every entry whose benchmark has that axis. Error: usage, with
/// file:line for mistakes in the suite, or if an override fits no entry or has a wrong value.
Result<std::vector<Cell>> cells_of(const Suite& suite, const std::vector<AxisSetting>& overrides,
                                   const BenchmarkLookup& lookup = find_benchmark);

}  // namespace assay
