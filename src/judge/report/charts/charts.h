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
/// curve has fewer than three points, starts there, so that no rise was seen, or falls below it
/// again.
struct Saturation {
  double x = 0, value = 0, plateau = 0;
};
std::optional<Saturation> saturation_of(const std::vector<Mark>& line);

/// Returns values over the main axis, or bars by category for panels without one. `names` are the
/// environments' names. Empty if there is nothing to draw: a single bar, or links without a main
/// axis, which become heat maps.
std::optional<Chart> curve_chart(const Panel& panel, const std::vector<std::string>& names);

/// A cell that was compared, and its name on a chart.
struct RatioRow {
  const CellComparison* cell = nullptr;
  std::string label;
};
/// Returns the compared cells of the metrics that are drawn, in the order of the comparison.
std::vector<RatioRow> ratio_rows(const Comparison& comparison);
/// Returns how much more time B takes than A in each of these, at least one, with the margin.
Chart ratio_chart(const std::vector<RatioRow>& rows, double margin, const std::string& title);
/// Returns such charts for each benchmark and metric, at most 40 cells per chart.
std::vector<Chart> ratio_charts(const Comparison& comparison);

/// The load under which a server reached its highest throughput.
struct HighestLoad {
  std::string load_axis, load;  ///< "max_concurrency", "32"
  Centre throughput;
  std::string unit;
  std::string latency_metric, latency_unit;  ///< "mean_ttft", "s"
  std::optional<Centre> latency;             ///< empty: it is void or was not measured
};
/// Empty if there is no valid load on LLM servers.
std::optional<HighestLoad> highest_load(const Environment& environment);

/// Returns charts of latency over throughput as the load grows, for benchmarks that report both.
std::vector<Chart> latency_charts(const std::vector<Environment>& environments);

/// Returns one chart for each environment, benchmark and metric whose cells name the two ends of a
/// link, at the largest size.
std::vector<Chart> heat_charts(const std::vector<Environment>& environments);

/// Returns the memory of each cell by kind, for benchmarks that record it.
std::vector<Chart> memory_charts(const std::vector<Environment>& environments);

/// Clocks, power, temperature and throttling of the environment's last run that recorded them.
struct TelemetryCharts {
  std::vector<Chart> charts;
  /// Readings that never changed and get no line: "cpu clock 2.600 GHz".
  std::vector<std::string> constants;
};
TelemetryCharts telemetry_charts(const Environment& environment);

}  // namespace assay::report
