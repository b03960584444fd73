#include "judge/report/charts/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <span>

#include "judge/report/cell_values.h"
#include "judge/report/chart_grouping.h"
#include "judge/report/charts/charts.h"
#include "judge/report/last_records.h"
#include "judge/report/number_text.h"
#include "measure/benchmarks/train/train_scaling.h"
#include "statistics/paired.h"

namespace assay::report {
namespace {

constexpr std::array<std::string_view, 2> rate_metrics = {"token_rate", "sample_rate"};

/// One cell of training.
struct Trained {
  const Series* rate = nullptr;
  Centre centre;  ///< centre of the rate
  double ranks = 0;
};

struct ScalingPoint {
  std::size_t environment = 0;
  Trained trained;
  const Series* alone = nullptr;  ///< the same on one rank
  Centre efficiency;
};

std::vector<Trained> trained_in(const ResultSet& results) {
  std::map<std::string, Trained> cells;
  for (const Series& series : results.series) {
    const auto ranks = axis_number(value_of(series.axes, "ranks"));
    const auto centre = centre_of(series);
    if (series.benchmark != "train" || !ranks || *ranks < 1 || !centre) continue;
    if (!results.fault_of(series.key.cell).empty()) continue;
    Trained& cell = cells[series.key.cell];
    cell.ranks = *ranks;
    const auto better = std::find(rate_metrics.begin(), rate_metrics.end(), series.key.metric);
    const auto known = cell.rate == nullptr ? rate_metrics.end()
                                            : std::find(rate_metrics.begin(), rate_metrics.end(),
                                                        cell.rate->key.metric);
    if (better < known) {
      cell.rate = &series;
      cell.centre = *centre;
    }
  }
  std::vector<Trained> trained;
  for (const auto& [name, cell] : cells) {
    if (cell.rate != nullptr) trained.push_back(cell);
  }
  return trained;
}

std::vector<ScalingPoint> points_of(std::span<const Environment> environments) {
  std::vector<ScalingPoint> points;
  for (std::size_t i = 0; i < environments.size(); ++i) {
    const std::vector<Trained> trained = trained_in(environments[i].results);
    for (const Trained& several : trained) {
      if (several.ranks < 2) continue;
      const auto one = std::find_if(trained.begin(), trained.end(), [&](const Trained& other) {
        return other.ranks == 1 && other.centre.low > 0 &&
               trains_the_same(several.rate->axes, other.rate->axes);
      });
      if (one == trained.end()) continue;
      // These are the worst and the best that both intervals allow, as in the run's own output.
      const Centre &rate = several.centre, &alone = one->centre;
      const Centre efficiency = {
          rate.median / (several.ranks * alone.median), rate.low / (several.ranks * alone.high),
          rate.high / (several.ranks * alone.low), std::min(rate.runs, alone.runs)};
      points.push_back({i, several, one->rate, efficiency});
    }
  }
  std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) {
    return std::pair(a.environment, a.trained.ranks) < std::pair(b.environment, b.trained.ranks);
  });
  return points;
}

/// Returns a figure that the cell's last record has besides its rate.
std::optional<double> last_metric(const std::vector<LastRecord>& records, const ScalingPoint& point,
                                  std::string_view name) {
  for (const LastRecord& last : records) {
    if (last.environment != point.environment) continue;
    if (last.record->cell.id() != point.trained.rate->key.cell) continue;
    for (const Metric& metric : last.record->metrics) {
      if (metric.name == name) return metric.value;
    }
  }
  return std::nullopt;
}

Table table_of(const std::vector<ScalingPoint>& points,
               const std::vector<Environment>& environments) {
  Table table;
  table.id = "scaling-table";
  table.caption = "Efficiency, and what a step waits for";
  table.columns = {{"environment", "environment"},
                   {"model", "model"},
                   {"parallel", "parallel"},
                   {"scaling", "scaling"},
                   {"ranks", "ranks", ColumnKind::count},
                   {"unit", "unit", ColumnKind::unit},
                   {"rate", "rate", ColumnKind::measured},
                   {"efficiency", "efficiency", ColumnKind::share},
                   {"low", "95% low", ColumnKind::share, "", 1, "", true},
                   {"high", "95% high", ColumnKind::share, "", 1, "", true},
                   {"waiting", "waits for the exchange", ColumnKind::share},
                   {"slower", "slower passes", ColumnKind::share},
                   {"skew", "slowest rank behind", ColumnKind::share},
                   {"alone", "exchange alone", ColumnKind::number, "s"},
                   {"bandwidth", "on the bus", ColumnKind::number, "bytes/s"}};
  const auto field = [](std::optional<double> value) { return value ? Field(*value) : Field(); };
  auto records = last_records(environments);
  for (const ScalingPoint& point : points) {
    const Trained& cell = point.trained;
    const auto metric = [&](std::string_view name) {
      return last_metric(records["train"], point, name);
    };
    const auto text = [&](std::string_view axis) {
      return std::string(value_of(cell.rate->axes, axis));
    };
    std::optional<double> waiting, slower;
    const auto step = metric("step_time"), exposed = metric("exchange_exposed");
    if (step && exposed && *step > 0) {
      waiting = *exposed / *step;
      slower = 1 - point.efficiency.median - *waiting;
    }
    table.rows.push_back({environments[point.environment].results.name, text("model"),
                          text("parallel"), text("scaling"), cell.ranks, cell.rate->unit,
                          cell.centre.median, point.efficiency.median, point.efficiency.low,
                          point.efficiency.high, field(waiting), field(slower),
                          field(metric("rank_skew")), field(metric("exchange_alone")),
                          field(metric("exchange_bus_bandwidth"))});
  }
  scale_columns(table);
  return table;
}

/// Returns the series of `several` on one rank, whose efficiency is 1.
Series alone_of(const Series& several) {
  Series alone = several;
  for (auto& [axis, value] : alone.axes) {
    if (axis == "ranks") value = "1";
  }
  alone.key.cell = Cell(alone.benchmark, alone.axes).id();
  alone.points = {{0, 1, 1, 1, 0, 0}};
  return alone;
}

/// Returns charts of the efficiency over the number of ranks, drawn like a result of each
/// environment.
std::vector<Chart> efficiency_charts(const std::vector<ScalingPoint>& points,
                                     const std::vector<Environment>& environments) {
  std::vector<Environment> drawn(environments.size());
  std::vector<std::string> names;
  for (const Environment& environment : environments) names.push_back(environment.results.name);
  std::set<std::pair<std::size_t, std::string>> begun;  // lines that have their first point
  for (const ScalingPoint& point : points) {
    Series series = *point.trained.rate;
    const Centre& efficiency = point.efficiency;
    series.key.metric = "efficiency";
    series.unit = "1";
    series.roof.reset();  // the roof is that of a rate
    series.points = {{0, efficiency.median, efficiency.low, efficiency.high, 0, 0}};
    Series alone = alone_of(series);
    std::vector<Series>& all = drawn[point.environment].results.series;
    if (begun.emplace(point.environment, alone.key.cell).second) all.push_back(std::move(alone));
    all.push_back(std::move(series));
  }
  std::vector<Chart> charts;
  for (const Panel& panel : panels_of(drawn)) {
    auto chart = curve_chart(panel, names);
    if (chart) charts.push_back(std::move(*chart));
  }
  return charts;
}

/// Returns the efficiency as the geometric mean over the runs that measured both, whose ratios do
/// not depend on how fast the machine was in that run; empty if there are fewer than two.
std::optional<Centre> paired_efficiency(const ScalingPoint& point) {
  std::vector<double> logs;
  for (const Point& several : point.trained.rate->points) {
    const auto one = std::ranges::find(point.alone->points, several.unit, &Point::unit);
    if (one == point.alone->points.end() || one->value <= 0 || several.value <= 0) continue;
    logs.push_back(std::log(several.value / (point.trained.ranks * one->value)));
  }
  if (logs.size() < 2) return std::nullopt;
  constexpr double any_margin = 1;  // arbitrary; the interval does not depend on it
  const PairedEffect effect = paired_effect(logs, any_margin);
  return Centre{std::exp(effect.mean), std::exp(effect.t95.low), std::exp(effect.t95.high),
                logs.size()};
}

}  // namespace

std::string scaling_answer(const Environment& environment) {
  const std::vector<ScalingPoint> points = points_of(std::span(&environment, 1));
  const auto most = std::ranges::max_element(points, {}, [](const ScalingPoint& point) {
    const bool is_weak = value_of(point.trained.rate->axes, "scaling") == "weak";
    return std::pair(point.trained.ranks, is_weak);
  });
  if (most == points.end()) return {};
  const auto paired = paired_efficiency(*most);
  const Centre efficiency = paired.value_or(most->efficiency);
  const auto ranks = static_cast<std::size_t>(most->trained.ranks);
  std::string text = fmt::format(
      "{} ranks together reach {:.0f}% of {} times one rank alone ({:.0f}% to {:.0f}%, {})", ranks,
      100 * efficiency.median, ranks, 100 * efficiency.low, 100 * efficiency.high,
      paired ? fmt::format("the 95% interval over {} runs", efficiency.runs)
             : std::string("what both intervals allow"));
  return text +
         fmt::format(": {} against {}.",
                     quantity_text(most->trained.centre.median, most->trained.rate->unit),
                     quantity_text(static_cast<double>(ranks) * centre_of(*most->alone)->median,
                                   most->alone->unit));
}

std::optional<Chapter> scaling_chapter(const std::vector<Environment>& environments) {
  const std::vector<ScalingPoint> points = points_of(environments);
  if (points.empty()) return std::nullopt;
  Chapter chapter{"scaling", "How training scales over ranks", "Scaling"};
  chapter.paragraphs = {
      "Efficiency is the rate of all ranks over so many times the rate of one. With scaling=weak "
      "every rank has one rank's batch, with scaling=strong all share it. What is missing to 100% "
      "is waiting for the exchange between ranks, or passes that are slower than one rank's. "
      "Ranks with parallel=none train alone at the same time and have no exchange."};
  for (Chart& chart : efficiency_charts(points, environments)) {
    chapter.blocks.emplace_back(std::move(chart));
  }
  chapter.blocks.emplace_back(table_of(points, environments));
  return chapter;
}

}  // namespace assay::report
