#include "judge/report/metric_choice.h"

#include <algorithm>
#include <array>

namespace assay::report {
namespace {

constexpr std::size_t most_metrics = 4;  // if there are more, only headline metrics are drawn

/// The metrics drawn for a benchmark that reports dozens.
constexpr std::array<std::string_view, 14> headline_metrics = {"busbw",
                                                               "bandwidth",
                                                               "bandwidth_average",
                                                               "output_throughput",
                                                               "request_throughput",
                                                               "total_token_throughput",
                                                               "mean_ttft",
                                                               "p99_ttft",
                                                               "mean_tpot",
                                                               "p99_tpot",
                                                               "mean_e2el",
                                                               "p99_e2el",
                                                               "mean_itl",
                                                               "tokens_per_second"};

bool is_headline(std::string_view metric) {
  return std::find(headline_metrics.begin(), headline_metrics.end(), metric) !=
         headline_metrics.end();
}

}  // namespace

bool is_shown(std::string_view metric, const std::set<std::string>& all) {
  const bool choice = all.size() > most_metrics &&
                      std::ranges::any_of(headline_metrics, [&](std::string_view headline) {
                        return all.contains(std::string(headline));
                      });
  return !choice || is_headline(metric);
}

}  // namespace assay::report
