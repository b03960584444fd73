#include "judge/report/cell_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/json.h"
#include "statistics/summary.h"

namespace assay::report {

std::string_view value_of(const Axes& axes, std::string_view name) {
  for (const auto& [axis, value] : axes) {
    if (axis == name) return value;
  }
  return {};
}

bool follows(std::string_view axis, std::string_view from, const std::vector<const Axes*>& cells) {
  std::map<std::string_view, std::string_view> values;  // value of `from` -> of `axis`
  return std::all_of(cells.begin(), cells.end(), [&](const Axes* cell) {
    const std::string_view value = value_of(*cell, axis);
    return value.empty() || values.emplace(value_of(*cell, from), value).first->second == value;
  });
}

std::vector<std::string> telling_axes(const std::vector<const Axes*>& cells) {
  struct Values {
    std::string_view first;
    bool vary = false;
  };
  std::map<std::string_view, Values> values;
  std::vector<std::string> names;  // in the order in which they appear
  for (const Axes* cell : cells) {
    for (const auto& [axis, value] : *cell) {
      if (value.empty()) continue;
      const auto [known, fresh] = values.emplace(axis, Values{value});
      if (fresh) names.push_back(axis);
      known->second.vary |= known->second.first != value;
    }
  }
  std::vector<std::string> telling;
  for (const std::string& axis : names) {
    const bool said = std::any_of(telling.begin(), telling.end(), [&](const std::string& before) {
      return follows(axis, before, cells);
    });
    if (values[axis].vary && !said) telling.push_back(axis);
  }
  return telling;
}

std::vector<std::string> short_names(const std::vector<NamedCell>& cells) {
  struct Group {
    std::vector<const Axes*> cells;
    std::set<std::string_view> metrics;
    std::vector<std::string> telling;
  };
  std::map<std::string_view, Group> groups;
  for (const NamedCell& cell : cells) {
    groups[cell.benchmark].cells.push_back(cell.axes);
    groups[cell.benchmark].metrics.insert(cell.metric);
  }
  for (auto& [benchmark, group] : groups) {
    // What is done is said even if all cells do it.
    group.telling = {"op", "metric", "model"};
    for (const std::string& axis : telling_axes(group.cells)) {
      if (std::ranges::find(group.telling, axis) == group.telling.end()) {
        group.telling.push_back(axis);
      }
    }
  }
  std::vector<std::string> names;
  for (const NamedCell& cell : cells) {
    const Group& group = groups[cell.benchmark];
    std::string& name = names.emplace_back(cell.benchmark);
    for (const std::string& axis : group.telling) {
      const std::string_view value = value_of(*cell.axes, axis);
      // A word or a size is clear by itself, whereas a number needs its axis's name.
      const bool number = value.find_first_not_of("0123456789.") == value.npos;
      if (value.empty()) continue;
      name += number ? fmt::format(" {}={}", axis, value) : fmt::format(" {}", value);
    }
    if (group.metrics.size() > 1) name += " " + cell.metric;
  }
  return names;
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
