// The hardware limit a rate is held against, and where that figure comes from.
#pragma once

#include <optional>
#include <string>

#include "machine/system/device_facts.h"
#include "measure/benchmarks/benchmark.h"

namespace assay {

struct Roof {
  double rate = 0;     ///< bytes/s or FLOP/s
  std::string source;  ///< "datasheet H200", "from clocks and bus width", ...
};

/// The roof of `limit` on this device; for Limit::compute at the peak rate of `math`. Empty when
/// nothing trustworthy is known. Peaks and their sources: src/compute/device/peaks.cpp.
std::optional<Roof> roof_of(const DeviceFacts& facts, Limit limit, DataType math);

/// The least seconds `work` can take under the memory and compute roofs known; empty if neither is.
std::optional<double> floor_seconds(const DeviceFacts& facts, const Work& work, Limit limit);

}  // namespace assay
