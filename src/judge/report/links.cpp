#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "judge/report/charts.h"
#include "judge/report/display.h"
#include "statistics/odd_links.h"

namespace assay::report {
namespace {

struct Link {
  std::string from, to, other;  ///< `other`: the remaining axes
  double size = 0;
  std::string size_text;
  double value = 0;
};

using GroupKey = std::tuple<std::string, std::string, std::string>;  // benchmark, metric, unit

/// Sums that programs add to their matrices as rows and columns are not links.
bool is_total(std::string_view end) {
  constexpr std::array<std::string_view, 6> names = {"all",    "actual", "total",
                                                     "stotal", "rtotal", "sum"};
  return std::find(names.begin(), names.end(), end) != names.end();
}

std::map<GroupKey, std::vector<Link>> links_of(const ResultSet& set) {
  std::map<GroupKey, std::vector<Link>> groups;
  for (const Series& series : set.series) {
    const auto ends = link_axes(series.axes);
    const auto centre = centre_of(series);
    if (!ends || !centre) continue;
    Link link;
    link.value = centre->median;
    for (const auto& [axis, value] : series.axes) {
      if (axis == ends->first) {
        link.from = value;
      } else if (axis == ends->second) {
        link.to = value;
      } else if (axis == "size" || axis == "bytes") {
        link.size = axis_number(value).value_or(0);
        link.size_text = fmt::format("{}={}", axis, value);
      } else {
        link.other += fmt::format("{}{}={}", link.other.empty() ? "" : " ", axis, value);
      }
    }
    if (is_total(link.from) || is_total(link.to)) continue;
    groups[{series.benchmark, series.key.metric, series.unit}].push_back(std::move(link));
  }
  return groups;
}

/// Marks the rows of links that are clearly slower than the rest, and says so in the summary.
void mark_odd(Chart& chart, const std::vector<Link>& links, const std::string& unit) {
  if (!unit.ends_with("/s")) return;  // of a time, less is better
  std::vector<LinkRate> rates;
  for (const Link& link : links) rates.push_back({link.from, link.to, link.value});
  const OddLinks odd = find_odd_links(rates);
  if (odd.none()) return;
  const auto is_odd = [&](const Link& link) {
    return std::any_of(odd.links.begin(), odd.links.end(),
                       [&](const OddLink& o) { return o.from == link.from && o.to == link.to; }) ||
           std::any_of(odd.endpoints.begin(), odd.endpoints.end(), [&](const OddEndpoint& o) {
             return (o.sends && o.name == link.from) || (o.receives && o.name == link.to);
           });
  };
  chart.table.columns.push_back({"odd", "odd"});
  for (std::size_t i = 0; i < links.size(); ++i) {
    chart.table.rows[i].push_back(is_odd(links[i]) ? Field("slow") : Field());
  }
  chart.summary += fmt::format(" Odd: {}.", fmt::join(describe(odd), "; "));
}

Chart chart_of(const std::string& title, const std::vector<Link>& links, const std::string& metric,
               const std::string& unit) {
  Chart chart;
  chart.kind = ChartKind::heat;
  chart.title = title;
  chart.settings = {{"metric", metric}};
  chart.table.caption = title;
  chart.table.columns = {
      {"from", "from"}, {"to", "to"}, {"value", metric, ColumnKind::number, unit}};
  for (const Link& link : links) chart.table.rows.push_back({link.from, link.to, link.value});
  scale_columns(chart.table);
  const auto [least, most] = std::minmax_element(
      links.begin(), links.end(), [](const Link& a, const Link& b) { return a.value < b.value; });
  chart.summary =
      fmt::format("{}, from {} ({} to {}) to {} ({} to {}).", counted(links.size(), "link"),
                  quantity_text(least->value, unit), least->from, least->to,
                  quantity_text(most->value, unit), most->from, most->to);
  mark_odd(chart, links, unit);
  return chart;
}

}  // namespace

std::vector<Chart> heat_charts(const std::vector<Environment>& environments) {
  std::vector<Chart> charts;
  // Charts that readers compare share one colour scale.
  using Kind = std::pair<GroupKey, std::string>;
  std::map<Kind, std::pair<double, double>> ranges;
  std::vector<Kind> drawn;  // by chart
  for (const Environment& environment : environments) {
    for (const auto& [key, links] : links_of(environment.results)) {
      const auto& [benchmark, metric, unit] = key;
      std::map<std::string, std::vector<Link>> by_other;
      for (const Link& link : links) by_other[link.other].push_back(link);
      for (auto& [other, all] : by_other) {
        double largest = 0;
        for (const Link& link : all) largest = std::max(largest, link.size);
        std::erase_if(all, [&](const Link& link) { return link.size < largest; });
        if (all.size() < 2) continue;
        std::string title =
            fmt::format("{} {} by link, {}", benchmark, metric, environment.results.name);
        if (by_other.size() > 1) title += ", " + other;
        if (!all.front().size_text.empty()) title += ", " + all.front().size_text;
        charts.push_back(chart_of(title, all, metric, unit));
        auto& [least, most] = ranges.try_emplace({key, other}, 1e300, -1e300).first->second;
        for (const Link& link : all) {
          least = std::min(least, link.value);
          most = std::max(most, link.value);
        }
        drawn.emplace_back(key, other);
      }
    }
  }
  for (std::size_t i = 0; i < charts.size(); ++i) {
    const auto [least, most] = ranges[drawn[i]];
    // Links that differ by less than a tenth look alike.
    charts[i].settings["least"] = std::min(least, 0.9 * most);
    charts[i].settings["most"] = most;
  }
  return charts;
}

}  // namespace assay::report
