#include "results/import/judged_metrics.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace assay {
namespace {

using Names = std::span<const std::string_view>;

/// Time and algorithm bandwidth equal the bus bandwidth times a number that the cell determines.
constexpr std::array<std::string_view, 1> of_collectives = {"busbw"};

/// The list of serving/results/serving_record.cpp; aiperf has other names for the first and the
/// second.
constexpr std::array<std::string_view, 12> of_loads = {"output_throughput",
                                                       "output_token_throughput",
                                                       "output_throughput_per_gpu",
                                                       "request_goodput",
                                                       "goodput",
                                                       "mean_ttft",
                                                       "p99_ttft",
                                                       "mean_tpot",
                                                       "p99_tpot",
                                                       "p99_itl",
                                                       "mean_e2el",
                                                       "p99_e2el"};

Names judged_of(std::string_view benchmark) {
  if (benchmark == "collective") return of_collectives;
  if (benchmark == "serving") return of_loads;
  return {};
}

}  // namespace

void keep_judged(Record& record) {
  const Names judged = judged_of(record.cell.benchmark());
  const auto is_judged = [&](const Metric& metric) {
    return std::ranges::find(judged, metric.name) != judged.end();
  };
  if (std::ranges::none_of(record.metrics, is_judged)) return;
  for (Metric& metric : record.metrics) {
    if (!is_judged(metric)) metric.better = Better::neither;
  }
}

}  // namespace assay
