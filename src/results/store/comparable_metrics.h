// The numbers of a record that can be compared, whether assay or another program measured them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/record/record.h"

namespace assay {

/// One such number.
struct Figure {
  std::string metric;   ///< "bandwidth", "latency", "busbw"
  double value = 0;     ///< in `unit`
  Interval interval95;  ///< 95% interval from the run alone; both ends are `value` if unknown
  std::string unit;     ///< "bytes/s", "s", ...
  Better better = Better::higher;
  bool emulated = false;  ///< computed by a model, not measured
};

/// Returns the record's own value, then its metrics with a known better direction that are not
/// void. Empty unless the record passed.
std::vector<Figure> figures_of(const Record& record);

/// Returns the natural logarithm of a value, negated if higher is better, so that it increases as
/// things get slower. Nullopt if the value is not finite or not above 0.
std::optional<double> log_time(double value, Better better);

}  // namespace assay
