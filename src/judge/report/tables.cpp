#include "judge/report/tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"
#include "judge/report/chart_grouping.h"
#include "judge/report/number_text.h"
#include "results/record/cost.h"
#include "statistics/summary.h"

namespace assay::report {
namespace {

/// Returns an empty field for a value that is unknown or has no bound.
Field finite(double value) {
  return std::isfinite(value) ? Field(value) : Field();
}

/// Returns "quiet, +0.10%": the result of measuring A twice.
std::string control_text(const CellComparison& cell) {
  std::string text(name_of(cell.control_state));
  if (cell.control && cell.control->pairs > 0) {
    text += fmt::format(", {:+.2f}%", 100 * std::expm1(cell.control->mean));
  }
  return text;
}

/// Cells that need action come first.
int urgency(Verdict verdict) {
  switch (verdict) {
    case Verdict::invalid:
      return 0;
    case Verdict::slower:
      return 1;
    case Verdict::faster:
      return 2;
    case Verdict::shifted:
      return 3;
    case Verdict::unstable:
      return 4;
    case Verdict::inconclusive:
      return 5;
    case Verdict::equal:
      break;
  }
  return 6;
}

/// The cost of a million tokens at the series' rate; null if no price was given.
const SideFigure* cost_of(const ResultSet& set, const Series& series) {
  const auto cost =
      set.beside.find({series.key.cell, std::string(cost_of_rate(series.key.metric))});
  return cost == set.beside.end() || cost->second.values.empty() ? nullptr : &cost->second;
}

bool has_costs(const std::vector<Environment>& environments) {
  return std::ranges::any_of(environments, [](const Environment& environment) {
    return std::ranges::any_of(environment.results.series, [&](const Series& series) {
      return cost_of(environment.results, series) != nullptr;
    });
  });
}

/// Sorts by benchmark, metric and axes.
std::vector<const Series*> in_order(const ResultSet& set) {
  std::vector<const Series*> series;
  for (const Series& one : set.series) series.push_back(&one);
  std::stable_sort(series.begin(), series.end(), [](const Series* a, const Series* b) {
    if (a->benchmark != b->benchmark) return a->benchmark < b->benchmark;
    if (a->key.metric != b->key.metric) return a->key.metric < b->key.metric;
    return comes_before(a->axes, b->axes);
  });
  return series;
}

}  // namespace

Table verdict_table(const Comparison& comparison) {
  Table table;
  table.caption = fmt::format("Cells: {} (B) against {} (A)", comparison.name_b, comparison.name_a);
  table.columns = {
      {"verdict", "verdict", ColumnKind::verdict},
      {"cell", "cell"},
      {"metric", "metric"},
      {"unit", "unit", ColumnKind::unit},
      {"change", "B against A", ColumnKind::change, "1"},
      {"change_low", "95% low", ColumnKind::change, "1"},
      {"change_high", "95% high", ColumnKind::change, "1"},
      {"median_a", "A: " + comparison.name_a, ColumnKind::measured},
      {"median_b", "B: " + comparison.name_b, ColumnKind::measured},
      {"pairs", comparison.paired ? "pairs" : "runs", ColumnKind::count},
      {"detectable", "detectable", ColumnKind::share, "1"},
      {"control", "control"},
      {"reason", "reason"},
      {"code", "code"},
  };
  for (Column& column : table.columns) {
    for (const char* key : {"pairs", "detectable", "control", "code"}) {
      column.detail = column.detail || column.key == key;
    }
  }
  std::vector<const CellComparison*> cells;
  for (const CellComparison& cell : comparison.cells) cells.push_back(&cell);
  std::stable_sort(cells.begin(), cells.end(), [](const auto* a, const auto* b) {
    const int first = urgency(a->judgement.verdict), second = urgency(b->judgement.verdict);
    if (first != second) return first < second;
    if (a->benchmark != b->benchmark) return a->benchmark < b->benchmark;
    if (a->key.metric != b->key.metric) return a->key.metric < b->key.metric;
    return comes_before(a->axes, b->axes);
  });
  for (const CellComparison* pointer : cells) {
    const CellComparison& cell = *pointer;
    const bool compared = cell.effect.pairs > 0;
    const bool bounded = cell.has_interval();
    table.rows.push_back({std::string(name_of(cell.judgement.verdict)), cell.key.cell,
                          cell.key.metric, cell.unit, compared ? finite(cell.ratio - 1) : Field(),
                          bounded ? finite(cell.ratio95.low - 1) : Field(),
                          bounded ? finite(cell.ratio95.high - 1) : Field(),
                          cell.a.empty() ? Field() : finite(cell.median_a),
                          cell.b.empty() ? Field() : finite(cell.median_b),
                          compared ? Field(static_cast<double>(cell.effect.pairs)) : Field(),
                          bounded && cell.effect.detectable > 0
                              ? finite(std::expm1(cell.effect.detectable))
                              : Field(),
                          control_text(cell), cell.judgement.reason, cell.judgement.code});
  }
  return table;
}

Table results_table(const std::vector<Environment>& environments) {
  Table table;
  table.caption = "Every cell's result";
  table.columns = {
      {"environment", "environment"},
      {"cell", "cell"},
      {"metric", "metric"},
      {"unit", "unit", ColumnKind::unit},
      {"median", "median", ColumnKind::measured},
      {"low", "low", ColumnKind::measured},
      {"high", "high", ColumnKind::measured},
      {"runs", "runs", ColumnKind::count},
      {"share", "share of roofline", ColumnKind::share, "1"},
      {"roofline", "roofline"},
      {"fault", "cannot be trusted because"},
  };
  const bool costs = has_costs(environments);
  const auto add = [&](std::vector<Field> row, Field cost) {
    if (costs) row.push_back(std::move(cost));
    table.rows.push_back(std::move(row));
  };
  if (costs) table.columns.push_back({"cost", "$ per million tokens"});
  for (const Environment& environment : environments) {
    const ResultSet& set = environment.results;
    for (const Series* pointer : in_order(set)) {
      const Series& series = *pointer;
      const auto centre = centre_of(series);
      const SideFigure* cost = cost_of(set, series);
      const std::string fault = set.fault_of(series.key.cell);
      const bool roofed = centre && series.roof && series.roof->rate > 0;
      // A single run of a program that reports no interval has none.
      const bool spread = centre && (centre->runs > 1 || centre->low != centre->high);
      const double share = roofed ? centre->median / series.roof->rate : 0;
      add({set.name, series.key.cell, series.key.metric, series.unit,
           centre ? Field(centre->median) : Field(), spread ? Field(centre->low) : Field(),
           spread ? Field(centre->high) : Field(), static_cast<double>(centre ? centre->runs : 0),
           roofed ? Field(share) : Field(), roofed ? Field(series.roof->source) : Field(),
           fault.empty() ? Field() : Field(fault)},
          cost == nullptr ? Field() : Field(format_significant(median(cost->values))));
    }
    for (const auto& [cell, figures] : set.voids) {
      add({set.name, cell, fmt::format("{}", fmt::join(figures.quantities, ", ")), std::string(),
           Field(), Field(), Field(), 0.0, Field(), Field(), "void: " + figures.reason},
          Field());
    }
    for (const auto& [cell, fault] : set.faults) {
      const auto first =
          std::ranges::lower_bound(set.series, SeriesKey{cell, ""}, {}, &Series::key);
      if (first != set.series.end() && first->key.cell == cell) continue;  // shown above
      add({set.name, cell, std::string(), std::string(), Field(), Field(), Field(), 0.0, Field(),
           Field(), fault},
          Field());
    }
  }
  return table;
}

Table runs_table(const std::vector<Environment>& environments) {
  Table table;
  table.caption = "Every run's value";
  table.raw = true;
  table.columns = {
      {"environment", "environment"},
      {"cell", "cell"},
      {"metric", "metric"},
      {"unit", "unit", ColumnKind::unit},
      {"run", "run"},
      {"pair", "pair", ColumnKind::count},
      {"value", "value", ColumnKind::measured},
      {"low", "low", ColumnKind::measured},
      {"high", "high", ColumnKind::measured},
      {"samples", "samples", ColumnKind::count},
      {"throttled", "throttled samples", ColumnKind::count},
  };
  for (const Environment& environment : environments) {
    const ResultSet& set = environment.results;
    for (const Series* pointer : in_order(set)) {
      const Series& series = *pointer;
      for (const Point& point : series.points) {
        const Unit* unit = point.unit < set.units.size() ? &set.units[point.unit] : nullptr;
        table.rows.push_back(
            {set.name, series.key.cell, series.key.metric, series.unit,
             unit != nullptr ? Field(unit->run) : Field(),
             unit != nullptr && unit->pair ? Field(static_cast<double>(*unit->pair)) : Field(),
             finite(point.value), finite(point.low), finite(point.high),
             point.samples > 0 ? Field(static_cast<double>(point.samples)) : Field(),
             static_cast<double>(point.throttled)});
      }
    }
  }
  return table;
}

}  // namespace assay::report
