// Environments for tests of the report, made from values, and what its tables say.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "judge/report/document.h"
#include "judge/report/input.h"

namespace assay::report {

using Axes = std::vector<std::pair<std::string, std::string>>;

/// A series with one value a run.
inline Series series_of(const std::string& benchmark, const Axes& axes, std::vector<double> values,
                        const std::string& metric = "bandwidth",
                        const std::string& unit = "bytes/s", Better better = Better::higher) {
  Series series;
  series.key = {Cell(benchmark, axes).id(), metric};
  series.benchmark = benchmark;
  series.axes = axes;
  series.unit = unit;
  series.better = better;
  for (std::size_t i = 0; i < values.size(); ++i) {
    series.points.push_back({i, values[i], values[i] * 0.99, values[i] * 1.01, 30, 0});
  }
  return series;
}

/// What the table says in the column whose key is `key`.
inline const Field& field(const Table& table, std::size_t row, const std::string& key) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].key == key) return table.rows.at(row).at(i);
  }
  ADD_FAILURE() << "no column " << key;
  static const Field none;
  return none;
}

/// Paired runs, as many as the longest series has values.
inline Environment environment_of(const std::string& name, std::vector<Series> series) {
  Environment environment;
  environment.results.name = name;
  environment.results.paired = true;
  std::size_t runs = 0;
  for (const Series& one : series) runs = std::max(runs, one.points.size());
  for (std::size_t i = 0; i < runs; ++i) {
    environment.results.units.push_back(
        {"run-" + std::to_string(i), "2026-01-31T12:00:00Z", "f", "fake:0 scripted device", i});
  }
  std::sort(series.begin(), series.end(),
            [](const Series& a, const Series& b) { return a.key < b.key; });
  environment.results.series = std::move(series);
  return environment;
}

/// `value`, a little different in each of `runs` runs.
inline std::vector<double> around(double value, std::size_t runs) {
  std::vector<double> values;
  for (std::size_t i = 0; i < runs; ++i) {
    values.push_back(value * (1 + 0.001 * std::sin(1.0 + 2.4 * static_cast<double>(i))));
  }
  return values;
}

/// A rising curve over size: 100, 200, 400, 760 and 800 GB/s.
inline Environment curve_environment(const std::string& name, double factor,
                                     std::size_t runs = 12) {
  std::vector<Series> series;
  const std::vector<std::pair<std::string, double>> points = {
      {"64KiB", 100e9}, {"1MiB", 200e9}, {"16MiB", 400e9}, {"256MiB", 760e9}, {"1GiB", 800e9}};
  for (const auto& [size, value] : points) {
    Series one =
        series_of("memory", {{"op", "triad"}, {"size", size}}, around(value * factor, runs));
    one.roof = Roof{1e12, "datasheet"};
    series.push_back(std::move(one));
  }
  return environment_of(name, std::move(series));
}

inline ReportInput comparison_input(double factor) {
  ReportInput input;
  input.environments = {curve_environment("host", 1), curve_environment("container", factor)};
  input.comparisons = {compare(input.environments[0].results, input.environments[1].results,
                               nullptr, VerdictRule{})};
  input.time = "2026-01-31T12:00:00Z";
  return input;
}

}  // namespace assay::report
