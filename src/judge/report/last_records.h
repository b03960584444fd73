// Finds the last passed record of each cell of each environment, for charts of the metrics that a
// benchmark records besides its value.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "judge/report/input.h"

namespace assay::report {

struct LastRecord {
  std::size_t environment = 0;  ///< index into the environments given
  const Record* record = nullptr;
};

/// Returns records by benchmark, in the order of environments and then of the first run of each
/// cell; trials of a search are left out. The environments must outlive them.
std::map<std::string, std::vector<LastRecord>> last_records(
    const std::vector<Environment>& environments);

/// Returns one label for each record, with the values of the axes that distinguish their cells,
/// "model=124M". Labels are empty if there are no such axes.
std::vector<std::string> labels_of(const std::vector<LastRecord>& records);

}  // namespace assay::report
