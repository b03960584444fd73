// Charts made from panels and comparisons. Pure functions. page/lines.js and page/rows.js use the
// settings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/report/chart_grouping.h"
#include "judge/report/document.h"

namespace assay::report {

/// The smallest x from which a rising curve stays at or above 90% of its maximum. Empty if the
/// curve starts there, so that no rise was seen, or falls below it again.
struct Saturation {
  double x = 0, value = 0, plateau = 0;
};
std::optional<Saturation> saturation_of(const std::vector<Mark>& line);

/// Values over the main axis, or bars by category for panels without one. `names`: of the
/// environments. Empty where there is nothing to draw: a single bar, or links without a main axis,
/// which become heat maps.
std::optional<Chart> curve_chart(const Panel& panel, const std::vector<std::string>& names);

/// B over A for the cells of each benchmark and metric, at most 40 on a chart.
std::vector<Chart> ratio_charts(const Comparison& comparison);

/// Latency over throughput as the load grows, for benchmarks that report both.
std::vector<Chart> latency_charts(const std::vector<Environment>& environments);

/// One for each environment, benchmark and metric whose cells name the two ends of a link; at the
/// largest size.
std::vector<Chart> heat_charts(const std::vector<Environment>& environments);

/// The memory of each cell by kind, for benchmarks that record it.
std::vector<Chart> memory_charts(const std::vector<Environment>& environments);

/// Clocks, power, temperature and throttling of the environment's last run that recorded them.
struct TelemetryCharts {
  std::vector<Chart> charts;
  std::vector<std::string>
      constants;  ///< what never changed and has no line: "cpu clock 2.600 GHz"
};
TelemetryCharts telemetry_charts(const Environment& environment);

}  // namespace assay::report
