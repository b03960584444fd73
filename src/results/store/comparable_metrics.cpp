#include "results/store/comparable_metrics.h"

#include <cmath>

namespace assay {

std::vector<Figure> figures_of(const Record& record) {
  std::vector<Figure> figures;
  if (record.status != RecordStatus::passed) return figures;
  if (record.value) {
    const Value& value = *record.value;
    figures.push_back({std::string(name_of(value.quantity)), value.median, value.interval95,
                       std::string(unit_of(value.quantity)),
                       value.quantity == Quantity::latency ? Better::lower : Better::higher,
                       record.device.emulated});
  }
  for (const Metric& metric : record.metrics) {
    if (metric.better == Better::neither || metric.is_void) continue;
    const Interval interval = metric.interval95.value_or(Interval{metric.value, metric.value});
    figures.push_back(
        {metric.name, metric.value, interval, metric.unit, metric.better, record.device.emulated});
  }
  return figures;
}

std::optional<double> log_time(double value, Better better) {
  if (!(value > 0) || !std::isfinite(value)) return std::nullopt;
  return better == Better::higher ? -std::log(value) : std::log(value);
}

}  // namespace assay
