// Names and units shared by the JSON and CSV exports of aiperf and genai-perf.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "results/record/measured_unit.h"
#include "results/record/record.h"

namespace assay {

/// Converts a unit: "ms" is seconds / 1000, "KB" is 1,024 bytes, "tokens/sec/user" and
/// "requests/sec" are rates; others that measured_unit() knows are as it says, the rest counts.
MeasuredUnit aiperf_unit(std::string_view text);

/// Names of statistics, first aiperf's, then assay's, in display order.
constexpr std::array<std::pair<std::string_view, std::string_view>, 13> aiperf_statistics = {
    {{"avg", "mean"},
     {"p50", "median"},
     {"std", "std"},
     {"min", "min"},
     {"max", "max"},
     {"p90", "p90"},
     {"p95", "p95"},
     {"p99", "p99"},
     {"p1", "p1"},
     {"p5", "p5"},
     {"p10", "p10"},
     {"p25", "p25"},
     {"p75", "p75"}}};

/// Returns the better direction of a metric by its name and unit: lower for times, neither for
/// counts, bytes, power, clocks and the times of day at which requests were sent, and higher for
/// all else and for what is called a throughput or goodput.
Better aiperf_better(std::string_view name, const MeasuredUnit& unit);

/// Returns the metric's name as in other importers: "ttft" for "time_to_first_token".
std::string aiperf_name(std::string_view tag);

}  // namespace assay
