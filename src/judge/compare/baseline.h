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
  double alpha = 0.05;  ///< chance that any sound run is left out as an outlier
  /// A run is left out if more than this share of its samples was throttled: they shift its median.
  double most_throttled = 0.1;
  bool allow_throttled = false;
};
/// The same number that a verdict needs.
constexpr std::size_t least_baseline_units = 6;

struct Baseline {
  BaselineRule rule;
  ResultSet results;                         ///< the accepted runs
  std::map<std::string, Json> fingerprints;  ///< of its units, by id
  std::vector<LeftOut> left_out;
  std::vector<std::string> problems;
};

/// Made of all `operands` together, each read by load_evidence(). Error: usage, if no series has
/// enough runs.
Result<Baseline> make_baseline(const std::vector<std::string>& operands, const BaselineRule& rule);

/// The file's text.
std::string baseline_text(const Baseline& baseline);
/// Whether a file claims to be a baseline: it begins like baseline_text().
bool is_baseline(const std::filesystem::path& path);
/// Checks everything in the text. Error: usage, naming the field.
Result<ResultSet> parse_baseline(std::string_view text, std::string name);
/// The same for a file. Error: usage, naming the path as well.
Result<ResultSet> read_baseline(const std::filesystem::path& path, std::string name);

}  // namespace assay
