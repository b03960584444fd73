// Telemetry as people read it: a line per accelerator and one for the host. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal.h"
#include "machine/telemetry/source.h"
#include "measure/store/record.h"

namespace assay::cli {

/// One reading of every channel.
struct Snapshot {
  std::string time;   ///< "2026-01-31T12:00:00.123Z"
  double second = 0;  ///< on a clock that only runs forwards
  std::vector<double> values;
};

/// A table of what accelerators and host do now. Rates come from the counters of two snapshots:
/// without an earlier one (`before` null) there are none. No wider than `width`, 0: any.
std::string watch_text(const std::vector<Channel>& channels, const Snapshot& now,
                       const Snapshot* before, std::size_t width, const Style& style);

/// {"time", "channels": {"gpu0.power": {"unit", "kind", "hardware", "value"}}}; what could not be
/// read is left out.
Json watch_json(const std::vector<Channel>& channels, const Snapshot& now);

}  // namespace assay::cli
