// The number a cell reports, and the hardware limit it is held against.
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
  double median = 0;
  Interval interval95;  ///< low <= median <= high, in the unit of the quantity
  std::optional<Roof> roof;
  std::optional<double> share;  ///< median / roof rate (or floor seconds / median for latency)
  std::string unit = {};        ///< as a file names it; empty: unit_of(quantity)
};

}  // namespace assay
