// Telemetry and results as a page of metrics for Prometheus and what reads its formats. Pure
// functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/machine/watch_view.h"

namespace assay::cli {

/// OpenMetrics 1.0 is for scrapers; text, Prometheus' format 0.0.4, is for node_exporter's textfile
/// collector and for promtool. They differ in how counters are declared, and in the end mark.
enum class MetricsFormat { open_metrics, text };

/// Returns a page with a family for each quantity, such as assay_power_watts{device="gpu0"}, and
/// with the value and the metrics of the newest passed record of each cell and device of `results`,
/// such as assay_result_bandwidth_bytes_per_second{cell="memory
/// op=triad",device="cpu:0",emulated="false",statistic="median"} and its 95% interval ("low95",
/// "high95"). A name ends in its unit, if it has one; counters end in "_total". Values that could
/// not be read, void metrics and trials (is_trial()) are left out.
std::string watch_metrics(const std::vector<Channel>& channels, const Snapshot& now,
                          std::span<const Record> results, MetricsFormat format);

}  // namespace assay::cli
