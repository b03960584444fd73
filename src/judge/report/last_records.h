// The last passed record of each cell, for charts of what a benchmark records beside its value.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "judge/report/input.h"

namespace assay::report {

struct LastRecord {
  std::size_t environment = 0;
  const Record* record = nullptr;
};

/// By benchmark, in the order of the first run of each cell. The environments must outlive them.
std::map<std::string, std::vector<LastRecord>> last_records(
    const std::vector<Environment>& environments);

/// The values of the axes that tell the records' cells apart, "model=124M"; one text for each,
/// empty if there are none.
std::vector<std::string> labels_of(const std::vector<LastRecord>& records);

}  // namespace assay::report
