#include "judge/campaign/unit_values.h"

namespace assay {

void add_values(const Record& record, UnitValues& values) {
  const std::string cell = record.cell.id();
  for (Figure& figure : figures_of(record)) {
    if (!log_time(figure.value, figure.better)) continue;
    std::pair key(cell, figure.metric);
    values[std::move(key)] = std::move(figure);
  }
}

}  // namespace assay
