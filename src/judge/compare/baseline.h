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

namespace assay {

struct BaselineRule {
  double alpha = 0.05;  ///< probability that any sound run is excluded as an outlier
  /// A run is excluded if more than this share of its samples was throttled, because that shifts
  /// its median.
  double most_throttled = 0.1;
  bool allow_throttled = false;
};
/// Equals the number of units that a verdict needs.
constexpr std::size_t least_baseline_units = 6;

struct Baseline {
  BaselineRule rule;
  ResultSet results;                         ///< the accepted runs
  std::map<std::string, Json> fingerprints;  ///< fingerprints of its units, keyed by id
  std::vector<LeftOut> left_out;
  std::vector<std::string> problems;
};

/// Makes a baseline from all `operands` together, each read by load_evidence(). Error: usage, if no
/// series has enough runs.
Result<Baseline> make_baseline(const std::vector<std::string>& operands, const BaselineRule& rule);

/// Returns the file's text.
std::string baseline_text(const Baseline& baseline);
/// Returns whether a file claims to be a baseline: it begins like baseline_text().
bool is_baseline(const std::filesystem::path& path);
/// Parses and checks the whole text. Error: usage, naming the field.
Result<ResultSet> parse_baseline(std::string_view text, std::string name);
/// Parses and checks a file. Error: usage, naming the path as well.
Result<ResultSet> read_baseline(const std::filesystem::path& path, std::string name);

}  // namespace assay
