#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/json.h"
#include "judge/report/charts/charts.h"
#include "judge/report/number_text.h"

namespace assay::report {
namespace {

constexpr double saturated = 0.9;
constexpr double spread_for_log = 30;  // an axis that spans a larger factor is logarithmic

struct Line {
  std::size_t environment;
  std::string name;
  std::vector<Mark> marks;
};

std::vector<Line> lines_of(const Panel& panel) {
  std::vector<Line> lines;
  for (const Mark& mark : panel.marks) {
    const bool next = lines.empty() || lines.back().environment != mark.environment ||
                      lines.back().name != mark.line;
    if (next) lines.push_back({mark.environment, mark.line, {}});
    lines.back().marks.push_back(mark);
  }
  return lines;
}

/// Checks values above 0, which a logarithmic axis can show; programs print 0.00 for small rates.
bool spans_decades(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !(value > 0); });
  if (values.size() < 3) return false;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *most / *least > spread_for_log;
}

/// Returns whether each value is the same multiple of the one before it: 1, 2, 4 or 1, 10, 100.
bool are_powers(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() < 3 || !(values[0] > 0)) return false;
  const double step = values[1] / values[0];
  for (std::size_t i = 2; i < values.size(); ++i) {
    if (std::abs(values[i] / values[i - 1] / step - 1) > 1e-6) return false;
  }
  return true;
}

bool has_positive(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [](double value) { return value > 0; });
}

std::string title_of(const Panel& panel) {
  std::string title = fmt::format("{} {}", panel.benchmark, panel.metric);
  if (!panel.x_axis.empty()) title += " over " + panel.x_axis;
  if (!panel.facet.empty()) title += ", " + panel.facet;
  return title;
}

std::string line_summary(const Line& line, const Panel& panel,
                         const std::vector<std::string>& names) {
  const Mark& first = line.marks.front();
  const Mark& last = line.marks.back();
  std::string who = names[line.environment];
  if (!line.name.empty()) who += ", " + line.name;
  std::string text =
      fmt::format("{}: {} at {}", who, quantity_text(first.centre.median, panel.unit), first.label);
  if (line.marks.size() > 1) {
    text += fmt::format(", {} at {}", quantity_text(last.centre.median, panel.unit), last.label);
  }
  if (last.roof && last.roof->rate > 0) {
    text += fmt::format(", {:.1f}% of the roofline", 100 * last.centre.median / last.roof->rate);
  }
  if (panel.better == Better::higher) {
    if (const auto point = saturation_of(line.marks)) {
      const auto at = std::find_if(line.marks.begin(), line.marks.end(),
                                   [&](const Mark& mark) { return mark.x == point->x; });
      text += fmt::format(", at least 90% of its maximum from {} on", at->label);
    }
  }
  return text + ".";
}

/// Returns the roofs without duplicates.
Json roofs_of(const std::vector<Line>& lines) {
  Json roofs = Json::array();
  std::set<double> known;
  for (const Line& line : lines) {
    for (const Mark& mark : line.marks) {
      if (!mark.roof || !(mark.roof->rate > 0) || !known.insert(mark.roof->rate).second) continue;
      roofs.push_back({{"value", mark.roof->rate}, {"source", mark.roof->source}});
    }
  }
  return roofs;
}

Table table_of(const Panel& panel, const std::vector<std::string>& names) {
  Table table;
  const bool curve = !panel.x_axis.empty();
  table.columns = {{"environment", "environment"}};
  if (curve) {
    table.columns.push_back({"line", panel.lines_are_links ? "link" : "line"});
    table.columns.push_back({"x", panel.x_axis,
                             panel.x_is_size ? ColumnKind::size : ColumnKind::number,
                             panel.x_is_size ? "bytes" : "1"});
  } else {
    table.columns.push_back({"label", "cell"});
  }
  for (const auto& [key, title] :
       {std::pair{"value", panel.metric.c_str()}, {"low", "low"}, {"high", "high"}}) {
    table.columns.push_back({key, title, ColumnKind::number, panel.unit});
  }
  table.columns.push_back({"runs", "runs", ColumnKind::count});
  const bool roofed = std::any_of(panel.marks.begin(), panel.marks.end(),
                                  [](const Mark& mark) { return mark.roof.has_value(); });
  if (roofed) {
    table.columns.push_back({"roof", "roofline", ColumnKind::number, panel.unit});
    table.columns.push_back({"share", "share of roofline", ColumnKind::share, "1"});
  }
  for (const Mark& mark : panel.marks) {
    std::vector<Field> row = {names[mark.environment]};
    if (curve) {
      row.insert(row.end(), {mark.line, mark.x});
    } else {
      row.emplace_back(mark.label);
    }
    const Centre& centre = mark.centre;
    row.insert(row.end(),
               {centre.median, centre.low, centre.high, static_cast<double>(centre.runs)});
    if (roofed) {
      const bool known = mark.roof && mark.roof->rate > 0;
      row.emplace_back(known ? Field(mark.roof->rate) : Field());
      row.emplace_back(known ? Field(centre.median / mark.roof->rate) : Field());
    }
    table.rows.push_back(std::move(row));
  }
  scale_columns(table);
  return table;
}

}  // namespace

std::optional<Saturation> saturation_of(const std::vector<Mark>& line) {
  if (line.size() < 3) return std::nullopt;
  double plateau = 0;
  for (const Mark& mark : line) plateau = std::max(plateau, mark.centre.median);
  const auto reaches = [&](const Mark& mark) { return mark.centre.median >= saturated * plateau; };
  const auto first = std::find_if(line.begin(), line.end(), reaches);
  if (first == line.begin() || !std::all_of(first, line.end(), reaches)) return std::nullopt;
  return Saturation{first->x, first->centre.median, plateau};
}

std::optional<Chart> curve_chart(const Panel& panel, const std::vector<std::string>& names) {
  const bool curve = !panel.x_axis.empty();
  if (panel.marks.empty() || (!curve && (panel.lines_are_links || panel.marks.size() < 2))) {
    return std::nullopt;
  }
  Chart chart;
  chart.kind = curve ? ChartKind::curve : ChartKind::bars;
  chart.title = title_of(panel);
  chart.table = table_of(panel, names);
  chart.table.caption = chart.title;
  const std::vector<Line> lines = lines_of(panel);
  std::vector<double> xs, ys;
  for (const Mark& mark : panel.marks) {
    xs.push_back(mark.x);
    ys.push_back(mark.centre.median);
  }
  chart.settings = {
      {"metric", panel.metric}, {"better", name_of(panel.better)}, {"roofs", roofs_of(lines)}};
  if (curve) {
    chart.settings["x"] = {{"title", panel.x_axis}, {"log", spans_decades(xs) || are_powers(xs)}};
    chart.settings["log"] = has_positive(ys) && (spans_decades(xs) || spans_decades(ys));
    Json marks = Json::array();
    for (const Line& line : lines) {
      const auto point = panel.better == Better::higher ? saturation_of(line.marks) : std::nullopt;
      if (!point || panel.lines_are_links) continue;
      marks.push_back({{"environment", names[line.environment]},
                       {"line", line.name},
                       {"x", point->x},
                       {"value", point->value}});
    }
    chart.settings["saturation"] = std::move(marks);
    chart.settings["links"] = panel.lines_are_links;
  }
  constexpr std::size_t most_described = 8;
  if (curve) {
    for (const Line& line : lines) {
      if (&line - lines.data() >= static_cast<std::ptrdiff_t>(most_described)) break;
      chart.summary += (chart.summary.empty() ? "" : " ") + line_summary(line, panel, names);
    }
    if (lines.size() > most_described) {
      chart.summary += fmt::format(" And {} more, in the table.",
                                   counted(lines.size() - most_described, "line"));
    }
  } else {
    chart.settings["log"] = has_positive(ys) && spans_decades(ys);
    Json texts = Json::array();  // each in a unit that suits it
    for (const double y : ys) texts.push_back(quantity_text(y, panel.unit));
    chart.settings["texts"] = std::move(texts);
    const auto [least, most] = std::minmax_element(
        panel.marks.begin(), panel.marks.end(),
        [](const Mark& a, const Mark& b) { return a.centre.median < b.centre.median; });
    const auto place = [&](const Mark& mark) {
      return names[mark.environment] + (mark.label.empty() ? "" : ", " + mark.label);
    };
    chart.summary =
        fmt::format("{}, from {} ({}) to {} ({}).", counted(panel.marks.size(), "value"),
                    quantity_text(least->centre.median, panel.unit), place(*least),
                    quantity_text(most->centre.median, panel.unit), place(*most));
  }
  std::vector<std::string> faults;
  for (const Mark& mark : panel.marks) faults.push_back(mark.fault);
  chart.summary += add_faults(chart.table, faults);
  if (!panel.constants.empty()) chart.conditions += " All with " + panel.constants + ".";
  if (!panel.constants_of_some.empty()) {
    chart.conditions += " Where it is known, with " + panel.constants_of_some + ".";
  }
  return chart;
}

}  // namespace assay::report
