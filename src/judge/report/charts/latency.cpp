#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>

#include "judge/report/charts/charts.h"
#include "judge/report/number_text.h"

namespace assay::report {
namespace {

constexpr std::array<std::string_view, 4> loads = {"max_concurrency", "request_rate", "concurrency",
                                                   "rate"};
constexpr std::array<std::string_view, 5> throughputs = {
    "output_throughput", "output_token_throughput", "total_token_throughput", "total_throughput",
    "request_throughput"};
constexpr std::array<std::string_view, 6> latencies = {"mean_ttft", "p99_ttft",  "mean_tpot",
                                                       "p99_tpot",  "mean_e2el", "p99_e2el"};

/// The throughput and latency of one environment under one load.
struct LoadPoint {
  std::size_t environment = 0;
  std::string load_axis, load;
  double order = 0;   ///< the load as a number: the order in which points are connected
  std::string other;  ///< the other axes; each combination has its own chart
  std::map<std::string, std::pair<Centre, std::string>, std::less<>> metrics;  ///< with units
  std::string fault;  ///< why its cell is void; empty: it is valid
};

/// Returns the metric that tells how much a server did; empty if there is none.
std::string_view throughput_of(const LoadPoint& point) {
  const auto found = std::ranges::find_if(
      throughputs, [&](std::string_view metric) { return point.metrics.contains(metric); });
  return found == throughputs.end() ? std::string_view() : *found;
}

/// Returns the benchmarks that report a throughput, in the order in which they appear.
std::vector<std::string> loaded_benchmarks(std::span<const Environment> environments) {
  std::vector<std::string> benchmarks;
  std::set<std::string> known;
  for (const Environment& environment : environments) {
    for (const Series& series : environment.results.series) {
      const bool load = std::ranges::find(throughputs, series.key.metric) != throughputs.end();
      if (load && known.insert(series.benchmark).second) benchmarks.push_back(series.benchmark);
    }
  }
  return benchmarks;
}

/// Returns the loads of one benchmark. A request rate of "inf" counts as the highest load.
std::vector<LoadPoint> points_of(std::span<const Environment> environments,
                                 const std::string& benchmark) {
  std::vector<LoadPoint> points;
  // keyed by environment and cell
  std::map<std::pair<std::size_t, std::string>, std::size_t> index;
  for (std::size_t i = 0; i < environments.size(); ++i) {
    for (const Series& series : environments[i].results.series) {
      if (series.benchmark != benchmark) continue;
      const auto centre = centre_of(series);
      if (!centre) continue;
      const auto [at, fresh] = index.try_emplace({i, series.key.cell}, points.size());
      if (fresh) {
        LoadPoint point;
        point.environment = i;
        point.fault = environments[i].results.fault_of(series.key.cell);
        points.push_back(std::move(point));
      }
      LoadPoint& point = points[at->second];
      point.metrics[series.key.metric] = {*centre, series.unit};
      if (fresh) {
        for (const std::string_view load : loads) {
          for (const auto& [axis, value] : series.axes) {
            // A numeric concurrency or rate takes precedence over "inf" or a missing one.
            const bool first = point.load_axis.empty() || !axis_number(point.load);
            if (axis != load || !first || (!point.load_axis.empty() && !axis_number(value)))
              continue;
            point.load_axis = axis;
            point.load = value;
            point.order = axis_number(value).value_or(1e300);
          }
        }
        for (const auto& [axis, value] : series.axes) {
          if (axis == point.load_axis || axis == run_length_axis) continue;
          point.other += fmt::format("{}{}={}", point.other.empty() ? "" : " ", axis, value);
        }
      }
    }
  }
  std::erase_if(points, [](const LoadPoint& point) { return point.load_axis.empty(); });
  std::stable_sort(points.begin(), points.end(), [](const LoadPoint& a, const LoadPoint& b) {
    return std::pair(a.environment, a.order) < std::pair(b.environment, b.order);
  });
  return points;
}

std::string summary_of(const std::vector<const LoadPoint*>& points, const std::string& throughput,
                       const std::string& latency, const std::vector<Environment>& environments) {
  std::string text;
  for (std::size_t i = 0; i < environments.size(); ++i) {
    const LoadPoint* best = nullptr;
    for (const LoadPoint* point : points) {
      if (point->environment != i) continue;
      const auto reach = [&](const LoadPoint& p) { return p.metrics.at(throughput).first.median; };
      if (best == nullptr || reach(*point) > reach(*best)) best = point;
    }
    if (best == nullptr) continue;
    const auto& [most, unit] = best->metrics.at(throughput);
    const auto& [cost, cost_unit] = best->metrics.at(latency);
    text +=
        fmt::format("{}{}: at most {}, at {} {} with {} {}.", text.empty() ? "" : " ",
                    environments[i].results.name, quantity_text(most.median, unit), best->load_axis,
                    best->load, latency, quantity_text(cost.median, cost_unit));
  }
  return text;
}

Chart chart_of(const std::vector<const LoadPoint*>& points, const std::string& throughput,
               const std::string& latency, const std::vector<Environment>& environments,
               const std::string& title) {
  Chart chart;
  chart.kind = ChartKind::latency;
  chart.title = title;
  chart.summary = summary_of(points, throughput, latency, environments);
  chart.settings = {
      {"throughput", throughput}, {"latency", latency}, {"load", points.front()->load_axis}};
  Table& table = chart.table;
  table.caption = title;
  table.columns = {{"environment", "environment"},
                   {"load", points.front()->load_axis},
                   {"throughput", metric_words(throughput), ColumnKind::number,
                    points.front()->metrics.at(throughput).second},
                   {"latency", metric_words(latency), ColumnKind::number,
                    points.front()->metrics.at(latency).second},
                   {"low", "low", ColumnKind::number, points.front()->metrics.at(latency).second},
                   {"high", "high", ColumnKind::number, points.front()->metrics.at(latency).second},
                   {"runs", "runs", ColumnKind::count}};
  for (const LoadPoint* point : points) {
    const Centre& cost = point->metrics.at(latency).first;
    table.rows.push_back({environments[point->environment].results.name, point->load,
                          point->metrics.at(throughput).first.median, cost.median, cost.low,
                          cost.high, static_cast<double>(cost.runs)});
  }
  std::vector<std::string> faults;
  for (const LoadPoint* point : points) faults.push_back(point->fault);
  chart.summary += add_faults(table, faults);
  scale_columns(table);
  return chart;
}

}  // namespace

std::optional<HighestLoad> highest_load(const Environment& environment) {
  std::optional<HighestLoad> best;
  for (const std::string& benchmark : loaded_benchmarks({&environment, 1})) {
    for (const LoadPoint& point : points_of({&environment, 1}, benchmark)) {
      const std::string_view throughput = throughput_of(point);
      if (throughput.empty() || !point.fault.empty()) continue;
      const auto& [centre, unit] = point.metrics.find(throughput)->second;
      if (best && centre.median <= best->throughput.median) continue;
      best = HighestLoad{point.load_axis, point.load, centre, unit, "", "", std::nullopt};
      for (const std::string_view latency : latencies) {
        const auto found = point.metrics.find(latency);
        if (found == point.metrics.end()) continue;
        best->latency_metric = latency;
        std::tie(best->latency, best->latency_unit) = found->second;
        break;
      }
    }
  }
  return best;
}

std::vector<Chart> latency_charts(const std::vector<Environment>& environments) {
  std::vector<Chart> charts;
  for (const std::string& benchmark : loaded_benchmarks(environments)) {
    const std::vector<LoadPoint> points = points_of(environments, benchmark);
    std::map<std::string, std::vector<const LoadPoint*>> by_other;
    for (const LoadPoint& point : points) by_other[point.other].push_back(&point);
    for (const auto& group : by_other) {
      const std::string& other = group.first;
      const std::vector<const LoadPoint*>& all = group.second;
      for (const std::string_view latency : latencies) {
        const std::string throughput(throughput_of(*all.front()));
        if (throughput.empty()) break;
        std::vector<const LoadPoint*> complete;
        std::copy_if(all.begin(), all.end(), std::back_inserter(complete), [&](const auto* point) {
          return point->metrics.count(throughput) > 0 && point->metrics.count(latency) > 0;
        });
        if (complete.size() < 2) continue;
        const std::string title =
            fmt::format("{}: {} over {}{}{}", benchmark, metric_words(std::string(latency)),
                        metric_words(throughput), by_other.size() > 1 ? ", " : "",
                        by_other.size() > 1 ? other : "");
        charts.push_back(chart_of(complete, throughput, std::string(latency), environments, title));
        std::vector<std::string> lost;
        for (const LoadPoint* point : all) {
          if (std::ranges::find(complete, point) == complete.end()) lost.push_back(point->load);
        }
        if (lost.empty()) continue;
        charts.back().summary += fmt::format(" Void or missing, so not drawn: {} {}.",
                                             all.front()->load_axis, fmt::join(lost, ", "));
      }
    }
  }
  return charts;
}

}  // namespace assay::report
