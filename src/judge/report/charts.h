// Charts made from panels and comparisons. Pure functions; what the settings mean: page/charts.js.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/report/document.h"
#include "judge/report/panels.h"

namespace assay::report {

/// The least x from which on a rising curve stays at 90% of its largest value or above. Empty if
/// the curve starts there, so that no rise was seen, or falls below it again.
struct Saturation {
  double x = 0, value = 0, plateau = 0;
};
std::optional<Saturation> saturation_of(const std::vector<Mark>& line);

/// Values over the main axis, or bars by category for panels without one. `names`: of the
/// environments. Empty where there is nothing to draw: a single bar, or links, which are heat maps.
std::optional<Chart> curve_chart(const Panel& panel, const std::vector<std::string>& names);

/// B over A for the cells of each benchmark and metric, at most 40 on a chart.
std::vector<Chart> ratio_charts(const Comparison& comparison);

/// Latency over throughput along the load, for benchmarks that report both.
std::vector<Chart> latency_charts(const std::vector<Environment>& environments);

/// One for each environment, benchmark and metric whose cells have two ends of a link; at the
/// largest value of the main axis.
std::vector<Chart> heat_charts(const std::vector<Environment>& environments);

/// Clocks, power, temperature and throttling of the environment's last run that recorded them.
std::vector<Chart> telemetry_charts(const Environment& environment);

}  // namespace assay::report
