#include "judge/report/cell_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

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

std::string_view value_of(const Axes& axes, std::string_view name) {
  for (const auto& [axis, value] : axes) {
    if (axis == name) return value;
  }
  return {};
}

bool follows(std::string_view axis, std::string_view from, const std::vector<const Axes*>& cells) {
  std::map<std::string_view, std::string_view> values;  // of `axis`, by that of `from`
  return std::all_of(cells.begin(), cells.end(), [&](const Axes* cell) {
    const std::string_view value = value_of(*cell, axis);
    return value.empty() || values.emplace(value_of(*cell, from), value).first->second == value;
  });
}

std::vector<std::string> telling_axes(const std::vector<const Axes*>& cells) {
  std::vector<std::string> telling;
  for (const Axes* cell : cells) {
    for (const auto& one : *cell) {
      const std::string &axis = one.first, &value = one.second;
      const bool constant = std::all_of(cells.begin(), cells.end(), [&](const Axes* other) {
        const std::string_view there = value_of(*other, axis);
        return there.empty() || there == value;
      });
      const bool known = std::find(telling.begin(), telling.end(), axis) != telling.end();
      if (constant || known) continue;
      const bool said = std::any_of(telling.begin(), telling.end(), [&](const std::string& before) {
        return follows(axis, before, cells);
      });
      if (!said) telling.push_back(axis);
    }
  }
  return telling;
}

namespace {

/// The parameters that a model's name says: "1.5B" 1.5e9, "30M" 3e7. Empty for other names.
std::optional<double> parameters_of(std::string_view model) {
  constexpr std::string_view letters = "KMBT";
  double value = 0;
  const auto [end, error] = std::from_chars(model.data(), model.data() + model.size(), value);
  if (error != std::errc{} || end + 1 != model.data() + model.size()) return std::nullopt;
  const std::size_t letter = letters.find(*end);
  if (letter == std::string_view::npos) return std::nullopt;
  return value * std::pow(1000.0, static_cast<double>(letter + 1));
}

std::optional<double> order_of(const std::pair<std::string, std::string>& axis) {
  if (axis.first == "model") return parameters_of(axis.second);
  return axis_number(axis.second);
}

}  // namespace

bool comes_before(const Axes& a, const Axes& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].first != b[i].first) return a[i].first < b[i].first;
    if (a[i].second == b[i].second) continue;
    const auto x = order_of(a[i]), y = order_of(b[i]);
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
