// Suites: named lists of cells as YAML files, embedded in the binary (suites/*.yaml) or given by
// path.
//
//   name: quick
//   description: one line
//   budget: 60s            # optional, for the whole suite
//   cells:
//     - benchmark: memory
//       axes: {op: [copy, triad], size: 64MiB..1GiB*4, dtype: f64}
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/axis.h"
#include "benchmarks/benchmark.h"
#include "core/cell.h"
#include "core/result.h"

namespace assay {

/// A list item of `cells`: one benchmark with settings for some of its axes.
struct SuiteEntry {
  struct Setting {
    AxisSetting setting;
    int line = 0;
  };
  std::string benchmark;
  std::vector<Setting> settings;
  int line = 0;
};

struct Suite {
  std::string name;
  std::string description;
  std::optional<double> budget_seconds;
  std::vector<SuiteEntry> entries;
  std::string file;  ///< for messages: "quick.yaml" or the path given
};

/// Error: usage, "file:line: what is wrong; what is allowed".
Result<Suite> parse_suite(std::string_view yaml, std::string_view file);
/// Error: usage if the file cannot be read, or parse_suite's.
Result<Suite> load_suite(const std::string& path);
/// The suites in the binary, sorted by name. Error: a suite in the tree is malformed.
Result<std::vector<Suite>> built_in_suites();

using BenchmarkLookup = std::function<const Benchmark*(std::string_view)>;

/// The cells of all entries in order, each once. An override replaces its axis in every entry whose
/// benchmark has it. Error: usage, with file:line for the suite's own mistakes; an override that
/// fits no entry.
Result<std::vector<Cell>> cells_of(const Suite& suite, const std::vector<AxisSetting>& overrides,
                                   const BenchmarkLookup& lookup = find_benchmark);

}  // namespace assay
