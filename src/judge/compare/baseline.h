// A baseline: accepted runs in one file, which `assay compare` accepts as either side.
// docs/schema.md describes the file, docs/method.md the rule.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "judge/compare/admissible_records.h"
#include "judge/compare/result_set.h"
#include "statistics/paired.h"

namespace assay {

struct BaselineRule {
  double alpha = 0.05;  ///< upper bound of the probability that any value of sound runs is left out
  /// A run's value of a cell is left out if more than this share of its samples was throttled,
  /// because throttling shifts the median.
  double max_throttled_share = 0.1;
  bool allow_throttled = false;  ///< true: max_throttled_share does not apply
};
/// Least number of runs that a series of a baseline has.
constexpr std::size_t least_baseline_runs = least_units;

struct Baseline {
  BaselineRule rule;
  ResultSet results;                         ///< the accepted runs
  std::map<std::string, Json> fingerprints;  ///< of results.units, keyed by id
  std::vector<LeftOut> left_out;             ///< values that do not count
  std::vector<std::string> problems;  ///< for the user: unreadable lines, several kinds of device
};

/// Makes one baseline from all `operands`: stores, environments of campaigns or files. A run that
/// occurs in several operands counts in the first one. Error: as load_evidence(); usage, if
/// emulated and real results are mixed or no series has least_baseline_runs.
Result<Baseline> make_baseline(const std::vector<std::string>& operands, const BaselineRule& rule);

/// Returns the file's text.
std::string baseline_text(const Baseline& baseline);
/// Returns whether the file begins like baseline_text(); false if it cannot be read.
bool is_baseline(const std::filesystem::path& path);
/// Parses baseline_text(); the rule is not kept. `name` becomes ResultSet::name. Error: usage, if
/// it is not JSON, or naming the wrong field.
Result<ResultSet> parse_baseline(std::string_view text, std::string name);
/// Reads a file and parses it. Error: as read_operand() (core/read_file.h); usage, naming the path
/// and the field.
Result<ResultSet> read_baseline(const std::filesystem::path& path, std::string name);

}  // namespace assay
