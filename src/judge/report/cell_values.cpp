#include "judge/report/cell_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/json.h"
#include "core/units.h"
#include "statistics/summary.h"

namespace assay::report {

std::optional<double> axis_number(std::string_view text) {
  if (const auto size = parse_size(text); size.ok()) return static_cast<double>(*size);
  const std::size_t times = text.find('x');
  if (times != std::string_view::npos) {
    const std::string_view edge = text.substr(0, times);
    const bool cube =
        text == fmt::format("{0}x{0}x{0}", edge) || text == fmt::format("{0}x{0}", edge);
    return cube ? axis_number(edge) : std::nullopt;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

bool comes_before(const Axes& a, const Axes& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].first != b[i].first) return a[i].first < b[i].first;
    if (a[i].second == b[i].second) continue;
    const auto x = axis_number(a[i].second), y = axis_number(b[i].second);
    if (x && y && *x != *y) return *x < *y;
    if (x.has_value() != y.has_value()) return x.has_value();
    return a[i].second < b[i].second;
  }
  return a.size() < b.size();
}

std::optional<Centre> centre_of(const Series& series) {
  std::vector<double> values;
  const Point* last = nullptr;
  for (const Point& point : series.points) {
    if (!std::isfinite(point.value)) continue;
    values.push_back(point.value);
    last = &point;
  }
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  Centre centre{quantile(values, 0.5), values.front(), values.back(), values.size()};
  if (values.size() == 1) {
    if (std::isfinite(last->low) && std::isfinite(last->high)) {
      centre.low = last->low;
      centre.high = last->high;
    }
    return centre;
  }
  // With fewer than 6 values, median_interval() gives the whole range.
  const Interval interval = median_interval(values, 0.95, static_cast<double>(values.size()));
  centre.low = interval.low;
  centre.high = interval.high;
  return centre;
}

}  // namespace assay::report
