#include "results/import/judged_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace assay {
namespace {

using Names = std::span<const std::string_view>;

/// Time and algorithm bandwidth equal the bus bandwidth times a number that the cell determines.
constexpr std::array<std::string_view, 1> of_collectives = {"busbw"};

/// As serving/results/serving_record.cpp has it; aiperf names the first and the second otherwise.
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

void void_unseen_times(Record& record) {
  if (record.cell.benchmark() != "serving") return;
  std::string unseen;
  for (const auto& [ending, shown] :
       {std::pair<std::string_view, std::string_view>{"_ttft", "TTFT"},
        {"_tpot", "TPOT"},
        {"_itl", "ITL"}}) {
    const auto is_mean = [end = ending](const Metric& metric) {
      return metric.name == fmt::format("mean{}", end);
    };
    const auto mean = std::ranges::find_if(record.metrics, is_mean);
    if (mean == record.metrics.end() || mean->value != 0) continue;
    for (Metric& metric : record.metrics) {
      if (!metric.name.ends_with(ending)) continue;
      metric.is_void = true;
      metric.better = Better::neither;
    }
    unseen += fmt::format("{}{}", unseen.empty() ? "" : ", ", shown);
  }
  if (unseen.empty()) return;
  record.notes.emplace_back(void_note, fmt::format("{} of 0: the client saw no stream", unseen));
}

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
