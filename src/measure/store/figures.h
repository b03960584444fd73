// The numbers of a record that can be judged, whether assay measured them or another program did.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/store/record.h"

namespace assay {

struct Figure {
  std::string metric;   ///< "bandwidth", "latency", "busbw"
  double value = 0;     ///< in `unit`
  Interval interval95;  ///< within the run; both `value` if unknown
  std::string unit;     ///< "bytes/s", "s", ...
  Better better = Better::higher;
};

/// The record's own value, then its metrics that have a better side. Of a record that did not pass:
/// none.
std::vector<Figure> figures_of(const Record& record);

/// The logarithm that grows as things get slower, whichever way the metric counts. Empty for a
/// value that is not finite and above 0.
std::optional<double> log_time(double value, Better better);

}  // namespace assay
