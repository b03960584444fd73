// Telemetry as text: a line per accelerator and one for the host. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal.h"
#include "machine/telemetry/source.h"
#include "results/record/record.h"

namespace assay::cli {

/// One reading of every channel.
struct Snapshot {
  std::string time;            ///< "2026-01-31T12:00:00.123Z"
  double second = 0;           ///< time on a monotonic clock
  std::vector<double> values;  ///< one for each channel, in its unit; NaN: it could not be read
};

/// A table of the current state of accelerators and host. Rates come from the counters of two
/// snapshots, so there are none without an earlier one (`before` null). No wider than `width`; 0:
/// unlimited.
std::string watch_text(const std::vector<Channel>& channels, const Snapshot& now,
                       const Snapshot* before, std::size_t width, const Style& style);

/// {"time", "channels": {"gpu0.power": {"unit", "kind", "hardware", "value"}}}; channels that could
/// not be read are left out.
Json watch_json(const std::vector<Channel>& channels, const Snapshot& now);

}  // namespace assay::cli
