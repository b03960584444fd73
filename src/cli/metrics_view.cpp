#include "cli/metrics_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cli/results_view.h"
#include "core/units.h"

namespace assay::cli {
namespace {

std::vector<std::string> all_metrics(std::span<const Record* const> records) {
  std::vector<std::string> names;
  std::set<std::string_view> known;
  for (const Record* record : records) {
    for (const Metric& metric : record->metrics) {
      if (known.insert(metric.name).second) names.push_back(metric.name);
    }
  }
  return names;
}

}  // namespace

std::string format_metric(const Metric& metric) {
  if (metric.unit == "bytes/s") {
    // Always in GB/s, so that the values of a column are easy to compare.
    return fmt::format("{} GB/s", format_significant(metric.value / 1e9));
  }
  if (metric.unit == "s" && metric.value >= 0) return format_seconds(metric.value);
  if (metric.unit == "FLOP/s") return format_rate(metric.value, metric.unit);
  if (metric.unit == "$") return format_in(metric.value, metric.unit);
  if (metric.unit == "bytes" && metric.value >= 0) return format_in(metric.value, metric.unit);
  const bool whole = metric.value == std::floor(metric.value) && std::abs(metric.value) < 1e15;
  const std::string number =
      whole ? fmt::format("{:.0f}", metric.value) : format_significant(metric.value);
  return metric.unit == "1" || metric.unit.empty() ? number
                                                   : fmt::format("{} {}", number, metric.unit);
}

std::vector<std::string> shown_metrics(std::span<const Record* const> records, std::size_t most) {
  std::vector<std::string> names = all_metrics(records);
  if (names.size() > most) names.resize(most);
  return names;
}

std::size_t count_metrics(std::span<const Record* const> records) {
  return all_metrics(records).size();
}

std::string metric_text(const Record& record, std::string_view name) {
  for (const Metric& metric : record.metrics) {
    if (metric.name != name) continue;
    if (metric.is_void) return "void";
    return std::string(model_mark(record.device.emulated)) + format_metric(metric);
  }
  return {};
}

}  // namespace assay::cli
