// The input of a report.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/json.h"
#include "judge/compare/comparison.h"
#include "judge/compare/result_set.h"
#include "results/record/record.h"

namespace assay::report {

/// One environment: its results and, if assay measured them, the underlying records, from which
/// telemetry and method are taken.
struct Environment {
  ResultSet results;
  std::vector<Record> records;  ///< empty if assay did not measure them
};

struct ReportInput {
  std::string title;                      ///< empty: made from the environments' names
  std::string description;                ///< purpose of the campaign; empty: not known
  std::vector<Environment> environments;  ///< one or more
  std::vector<Comparison> comparisons;    ///< comparisons of pairs of environments
  Json study;                             ///< a partition study's conclusions; null: none
  std::string campaign;                   ///< its folder; empty: the results are no campaign's
  std::string operands;                   ///< what the user named, quoted for a shell
  std::string time;                       ///< when the report is made, UTC
  std::string subject = {};               ///< what the answer calls B; empty: its name
  bool repeated = false;  ///< the only comparison is of an environment with itself, measured twice
  /// The number of environments, at the end, that are only drawn beside the others. Cards that
  /// describe what was measured leave them out.
  std::size_t beside = 0;
};

/// With more environments, lines in a chart could not be distinguished: there are six colours, each
/// with several dashes and marks.
constexpr std::size_t most_environments = 16;

}  // namespace assay::report
