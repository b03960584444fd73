#include "judge/report/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/units.h"
#include "judge/compare/sentences.h"

namespace assay::report {

std::string_view name_of(ChartKind kind) {
  switch (kind) {
    case ChartKind::curve:
      return "curve";
    case ChartKind::bars:
      return "bars";
    case ChartKind::ratio:
      return "ratio";
    case ChartKind::latency:
      return "latency";
    case ChartKind::timeline:
      return "timeline";
    case ChartKind::heat:
      return "heat";
    case ChartKind::lanes:
      return "lanes";
    case ChartKind::roofline:
      return "roofline";
    case ChartKind::waterfall:
      return "waterfall";
    case ChartKind::stack:
      break;
  }
  return "stack";
}

Display display_for(std::string_view unit, double largest) {
  const double magnitude = std::abs(largest);
  const Scale scale = scale_for(magnitude);
  if (unit == "bytes/s") {
    // GB/s is used wherever it is legible, so that charts can be compared at a glance.
    if (magnitude >= 1e7 || magnitude == 0) return {1e9, "GB/s"};
    return {scale.factor, fmt::format("{}B/s", scale.prefix)};
  }
  if (unit == "bytes") return {scale.factor, fmt::format("{}B", scale.prefix)};
  if (unit == "s") {
    if (magnitude >= 1 || magnitude == 0) return {1, "s"};
    return {scale.factor, fmt::format("{}s", scale.prefix)};
  }
  if (unit == "ns") {
    const Display seconds = display_for("s", magnitude * 1e-9);
    return {seconds.factor * 1e9, seconds.unit};
  }
  if (unit == "FLOP/s" || unit == "Hz" || unit == "W" || unit == "J") {
    return {scale.factor, fmt::format("{}{}", scale.prefix, unit)};
  }
  if (unit == "degC") return {1, "\u00b0C"};
  if (unit == "1") return {1, ""};
  return {1, std::string(unit)};
}

void scale_columns(Table& table) {
  std::map<std::string, double> largest;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].kind != ColumnKind::number) continue;
    double& most = largest[table.columns[i].unit];
    for (const auto& row : table.rows) {
      const double* value = std::get_if<double>(&row[i]);
      if (value != nullptr && std::isfinite(*value)) most = std::max(most, std::abs(*value));
    }
  }
  for (Column& column : table.columns) {
    if (column.kind != ColumnKind::number) continue;
    const Display display = display_for(column.unit, largest[column.unit]);
    column.factor = display.factor;
    column.shown_unit = display.unit;
  }
}

std::string text_of(const Table& table, const std::vector<Field>& row, std::size_t column) {
  if (const auto* text = std::get_if<std::string>(&row[column])) return *text;
  const double* number = std::get_if<double>(&row[column]);
  if (number == nullptr || std::isnan(*number)) return {};
  if (std::isinf(*number)) return *number > 0 ? "\u221e" : "-\u221e";
  switch (table.columns[column].kind) {
    case ColumnKind::count:
      return fmt::format("{:.0f}", *number);
    case ColumnKind::size:
      if (*number >= 0 && *number < 1e18) return format_size(static_cast<std::uint64_t>(*number));
      break;
    case ColumnKind::change:
      if (1 + *number >= many_times) return times_text(1 + *number);
      return fmt::format("{:+.2f}%", *number * 100);
    case ColumnKind::share:
      return fmt::format("{:.1f}%", *number * 100);
    case ColumnKind::measured:
      for (std::size_t i = 0; i < row.size(); ++i) {
        const auto* unit = std::get_if<std::string>(&row[i]);
        if (table.columns[i].kind == ColumnKind::unit && unit != nullptr) {
          return quantity_text(*number, *unit);
        }
      }
      break;
    default:
      break;
  }
  return format_significant(*number / table.columns[column].factor);
}

bool is_numeric(ColumnKind kind) {
  return kind != ColumnKind::text && kind != ColumnKind::verdict && kind != ColumnKind::unit;
}

std::string quantity_text(double value, std::string_view unit) {
  const Display display = display_for(unit, value);
  const std::string number = format_significant(value / display.factor);
  return display.unit.empty() ? number : number + " " + display.unit;
}

std::string heading_of(const Column& column) {
  if (column.shown_unit.empty()) return column.title;
  return fmt::format("{} ({})", column.title, column.shown_unit);
}

std::string exact_text(const Field& field) {
  if (const auto* text = std::get_if<std::string>(&field)) return *text;
  const double* number = std::get_if<double>(&field);
  if (number == nullptr || std::isnan(*number)) return {};
  // Counts and sizes have no exponent; both forms read back exactly.
  if (std::abs(*number) < 1e15 && *number == std::trunc(*number)) {
    return fmt::format("{:.0f}", *number);
  }
  return fmt::format("{}", *number);
}

std::string add_faults(Table& table, const std::vector<std::string>& faults) {
  const auto sound = static_cast<std::size_t>(std::ranges::count(faults, ""));
  if (sound == faults.size()) return {};
  table.columns.push_back({"fault", "cannot be trusted because"});
  for (std::size_t i = 0; i < faults.size(); ++i) {
    table.rows[i].push_back(faults[i].empty() ? Field() : Field(faults[i]));
  }
  const std::size_t voids = faults.size() - sound;
  return fmt::format(" {} {} void and drawn hollow.", counted(voids, "value"),
                     voids == 1 ? "is" : "are");
}

std::string metric_words(std::string metric) {
  std::ranges::replace(metric, '_', ' ');
  for (const std::string_view name : {"ttft", "tpot", "itl", "e2el"}) {
    const std::size_t at = metric.find(name);
    if (at == metric.npos) continue;
    std::transform(metric.begin() + static_cast<std::ptrdiff_t>(at), metric.end(),
                   metric.begin() + static_cast<std::ptrdiff_t>(at),
                   [](char c) { return static_cast<char>(c - 'a' + 'A'); });
  }
  return metric;
}

std::string counted(std::size_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

}  // namespace assay::report
