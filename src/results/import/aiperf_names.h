// What the exports of aiperf and genai-perf as JSON and as CSV share: names and units.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "results/record/measured_unit.h"
#include "results/record/record.h"

namespace assay {

/// "ms" means seconds / 1000, "KB" 1,024 bytes, "tokens/sec/user" and "requests/sec" are rates,
/// everything else is a count.
MeasuredUnit aiperf_unit(std::string_view text);

/// Their statistics and ours, in display order.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> aiperf_statistics = {
    {{"avg", "mean"},
     {"p50", "median"},
     {"std", "std"},
     {"min", "min"},
     {"max", "max"},
     {"p90", "p90"},
     {"p95", "p95"},
     {"p99", "p99"},
     {"p1", "p1"}}};

/// Which way a metric of this name and unit is better: times down, rates up; counts and the times
/// of day at which requests were sent neither.
Better aiperf_better(std::string_view name, const MeasuredUnit& unit);

/// The name of a metric as in other importers: "ttft" of "time_to_first_token".
std::string aiperf_name(std::string_view tag);

}  // namespace assay
