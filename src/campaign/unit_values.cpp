#include "campaign/unit_values.h"

#include <cmath>

namespace assay {
namespace {

void add(UnitValues& values, const std::string& cell, std::string metric, UnitValue value) {
  if (value.value > 0 && std::isfinite(value.value)) {
    values[{cell, std::move(metric)}] = std::move(value);
  }
}

}  // namespace

void add_values(const Record& record, UnitValues& values) {
  if (record.status != RecordStatus::passed) return;
  const std::string cell = record.cell.id();
  if (record.value) {
    const Quantity quantity = record.value->quantity;
    add(values, cell, std::string(name_of(quantity)),
        {record.value->median, quantity == Quantity::latency ? Better::lower : Better::higher,
         std::string(unit_of(quantity))});
  }
  for (const Metric& metric : record.metrics) {
    if (metric.better == Better::neither) continue;
    add(values, cell, metric.name, {metric.value, metric.better, metric.unit});
  }
}

double log_time(const UnitValue& value) {
  return value.better == Better::lower ? std::log(value.value) : -std::log(value.value);
}

}  // namespace assay
