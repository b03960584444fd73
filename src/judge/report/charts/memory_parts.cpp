// The contents of a benchmark's memory as stacked bars: parameters, gradients, activations of
// training.
#include <fmt/format.h>

#include <algorithm>

#include "judge/report/charts/charts.h"
#include "judge/report/last_records.h"
#include "judge/report/number_text.h"

namespace assay::report {
namespace {

/// "memory_gradients" in a record's metrics is the part "gradients" of the metric "memory".
constexpr std::string_view whole_metric = "memory", part_prefix = "memory_";
constexpr std::string_view rest_name = "other";
/// The driver's figure of the whole is not a part of it.
constexpr std::string_view not_a_part = "memory_by_driver";

struct MemoryPart {
  std::string name;
  double bytes = 0;
};

/// Returns the parts in the order of the record, and the rest of the whole; empty if there are no
/// parts.
std::vector<MemoryPart> parts_of(const Record& record) {
  std::vector<MemoryPart> parts;
  double all = 0, known = 0;
  for (const Metric& metric : record.metrics) {
    if (metric.name == whole_metric) all = metric.value;
    if (!metric.name.starts_with(part_prefix) || metric.name == not_a_part) continue;
    parts.push_back({metric.name.substr(part_prefix.size()), metric.value});
    known += metric.value;
  }
  if (!parts.empty() && all > known) parts.push_back({std::string(rest_name), all - known});
  return parts;
}

}  // namespace

std::vector<Chart> memory_charts(const std::vector<Environment>& environments) {
  std::vector<Chart> charts;
  for (const auto& [benchmark, records] : last_records(environments)) {
    Chart chart;
    chart.kind = ChartKind::stack;
    chart.title = fmt::format("{}: memory by kind", benchmark);
    chart.table.caption = chart.title;
    chart.table.columns = {{"environment", "environment"},
                           {"label", "cell"},
                           {"part", "part"},
                           {"value", "memory", ColumnKind::number, "bytes"}};
    const std::vector<std::string> labels = labels_of(records);
    std::size_t described = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
      const std::string& name = environments[records[i].environment].results.name;
      const std::vector<MemoryPart> parts = parts_of(*records[i].record);
      if (parts.empty()) continue;
      double all = 0;
      for (const MemoryPart& part : parts) {
        chart.table.rows.push_back({name, labels[i], part.name, part.bytes});
        all += part.bytes;
      }
      constexpr std::size_t most_described = 4;
      if (++described > most_described) continue;
      const auto largest = std::max_element(
          parts.begin(), parts.end(),
          [](const MemoryPart& a, const MemoryPart& b) { return a.bytes < b.bytes; });
      chart.summary +=
          fmt::format("{}{}{}{}: {}, of which {} {:.0f}%.", chart.summary.empty() ? "" : " ", name,
                      labels[i].empty() ? "" : ", ", labels[i], quantity_text(all, "bytes"),
                      largest->name, 100 * largest->bytes / all);
    }
    if (chart.table.rows.empty()) continue;
    scale_columns(chart.table);
    charts.push_back(std::move(chart));
  }
  return charts;
}

}  // namespace assay::report
