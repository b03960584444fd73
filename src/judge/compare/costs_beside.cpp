#include "judge/compare/costs_beside.h"

#include <string>

namespace assay {

void add_costs(ResultSet& results, const std::optional<Price>& price) {
  if (!price) return;
  for (const Series& series : results.series) {
    const std::string_view name = cost_of_rate(series.key.metric);
    if (name.empty() || series.unit != "tokens/s") continue;
    const double devices = devices_of(series.axes, *price);
    for (const Point& point : series.points) {
      if (!(point.value > 0)) continue;  // a side without values has no figure
      SideFigure& figure = results.beside[{series.key.cell, std::string(name)}];
      figure.unit = "$";
      figure.values.push_back(cost_per_million_tokens(price->per_hour, devices, point.value));
    }
  }
}

}  // namespace assay
