// Separates results that a baseline or a history may use from those that it may not.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/result.h"
#include "results/record/record.h"

namespace assay {

/// A result that is not used.
struct LeftOut {
  std::string run;     ///< empty: all runs, of a series that too few sound ones have
  std::string cell;    ///< Cell::id()
  std::string metric;  ///< empty: all metrics of the cell
  std::string reason;
};

struct Evidence {
  std::vector<Record> records;               ///< passed, verified and without a fault
  std::map<std::string, Json> fingerprints;  ///< fingerprints of these records, keyed by id
  std::vector<LeftOut> left_out;             ///< the other records
  std::vector<std::string> problems;         ///< lines that could not be read
};

/// Loads `operand` with load_result_set(). If it is a campaign's environment, only complete units
/// count. Error: as load_result_set() (operands.h); usage, if it is a baseline, which has no
/// records.
Result<Evidence> load_evidence(const std::string& operand);

}  // namespace assay
