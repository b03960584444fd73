// The number that a cell reports, and the hardware limit with which it is compared.
#pragma once

#include <optional>
#include <string>

#include "results/record/work.h"
#include "statistics/summary.h"

namespace assay {

/// The hardware limit that a rate is compared with, and the source of that figure.
struct Roof {
  double rate = 0;     ///< bytes/s or FLOP/s
  std::string source;  ///< "datasheet H200", "from clocks and bus width", ...
};

/// The cell's main result, derived from the median and the interval of the seconds.
struct Value {
  Quantity quantity = Quantity::latency;
  double median = 0;         ///< over the samples of the run
  Interval interval95;       ///< of the median: low <= median <= high, in the unit of the quantity
  std::optional<Roof> roof;  ///< none for rates of tokens and samples
  /// median / roof->rate. For latencies and rates of tokens and samples it is the shortest time
  /// that the roofs allow, divided by the median time. Empty if no roof is known.
  std::optional<double> share;
  std::string unit = {};  ///< as written in the store; empty in new records: unit_of(quantity)
};

}  // namespace assay
