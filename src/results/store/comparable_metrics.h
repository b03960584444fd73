// The numbers of a record that can be compared, whether assay or another program measured them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/record/record.h"

namespace assay {

struct Figure {
  std::string metric;   ///< "bandwidth", "latency", "busbw"
  double value = 0;     ///< in `unit`
  Interval interval95;  ///< within the run; both ends are `value` if unknown
  std::string unit;     ///< "bytes/s", "s", ...
  Better better = Better::higher;
  bool emulated = false;  ///< computed by a model, not measured
};

/// The record's own value, then its metrics with a known better direction. Empty unless the record
/// passed.
std::vector<Figure> figures_of(const Record& record);

/// A logarithm that increases as things get slower, whichever direction is better. Nullopt if the
/// value is not finite or not above 0.
std::optional<double> log_time(double value, Better better);

}  // namespace assay
