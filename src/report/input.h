// What a report is made of.
#pragma once

#include <string>
#include <vector>

#include "compare/comparison.h"
#include "compare/result_set.h"
#include "store/record.h"

namespace assay::report {

/// One environment: its results, and the records behind them where they are assay's own. Telemetry
/// and how it was measured come from the records; without them those chapters say so.
struct Environment {
  ResultSet results;
  std::vector<Record> records;
};

struct ReportInput {
  std::string title;                      ///< empty: made from the environments' names
  std::vector<Environment> environments;  ///< one or more, the first is A
  std::vector<Comparison> comparisons;    ///< of A with each of the others
  std::string time;                       ///< when the report is made, UTC
};

/// Environments beyond these would share colours.
constexpr std::size_t most_environments = 6;

}  // namespace assay::report
