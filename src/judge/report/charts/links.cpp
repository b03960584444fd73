#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "judge/report/charts/charts.h"
#include "judge/report/number_text.h"
#include "statistics/odd_links.h"

namespace assay::report {
namespace {

struct Link {
  std::string from, to, other;  ///< `other`: the remaining axes
  double size = 0;
  std::string size_text;
  double value = 0;
  bool odd = false;
  std::string fault;  ///< why its cell is void; empty: it counts
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
    link.fault = set.fault_of(series.key.cell);
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

/// What becomes one chart.
struct Matrix {
  GroupKey key;
  std::string title;
  std::string environment, other;
  std::vector<Link> links;
  std::vector<std::string> odd;  ///< what is clearly slower than the rest, in words
  bool merged = false;           ///< from matrices of one row each
};

/// Marks the links that are clearly slower than the rest of their matrix.
void mark_odd(Matrix& matrix) {
  if (!std::get<2>(matrix.key).ends_with("/s")) return;  // of a time, less is better
  std::vector<LinkRate> rates;
  for (const Link& link : matrix.links) rates.push_back({link.from, link.to, link.value});
  const OddLinks odd = find_odd_links(rates);
  for (Link& link : matrix.links) {
    link.odd =
        std::any_of(odd.links.begin(), odd.links.end(),
                    [&](const OddLink& o) { return o.from == link.from && o.to == link.to; }) ||
        std::any_of(odd.endpoints.begin(), odd.endpoints.end(), [&](const OddEndpoint& o) {
          return (o.sends && o.name == link.from) || (o.receives && o.name == link.to);
        });
  }
  if (!odd.none()) matrix.odd = describe(odd);
}

std::vector<Matrix> matrices_of(const Environment& environment) {
  std::vector<Matrix> matrices;
  for (const auto& [key, links] : links_of(environment.results)) {
    std::map<std::string, std::vector<Link>> by_other;
    for (const Link& link : links) by_other[link.other].push_back(link);
    for (auto& [other, all] : by_other) {
      double largest = 0;
      for (const Link& link : all) largest = std::max(largest, link.size);
      std::erase_if(all, [&](const Link& link) { return link.size < largest; });
      if (all.size() < 2) continue;
      Matrix matrix{key, "", environment.results.name, other, std::move(all), {}};
      matrix.title = fmt::format("{} {} by link, {}", std::get<0>(key), std::get<1>(key),
                                 environment.results.name);
      if (by_other.size() > 1) matrix.title += ", " + other;
      const std::string& size = matrix.links.front().size_text;
      if (!size.empty()) matrix.title += ", " + size;
      mark_odd(matrix);
      matrices.push_back(std::move(matrix));
    }
  }
  return matrices;
}

bool has_one_row(const Matrix& matrix) {
  return std::ranges::all_of(
      matrix.links, [&](const Link& link) { return link.from == matrix.links.front().from; });
}

/// One matrix of those with one row each: a row for each, named by what differs among them.
Matrix stacked(const std::vector<Matrix>& all) {
  const Matrix& first = all.front();
  const auto shared = [&](const auto& of) {
    return std::ranges::all_of(all, [&](const Matrix& one) { return of(one) == of(first); });
  };
  const auto source = [](const Matrix& one) { return "from " + one.links.front().from; };
  const auto size = [](const Matrix& one) { return one.links.front().size_text; };
  const auto environment = [](const Matrix& one) { return one.environment; };
  const auto other = [](const Matrix& one) { return one.other; };
  Matrix result{first.key, "", "", "", {}, {}, true};
  result.title = fmt::format("{} {} by link", std::get<0>(first.key), std::get<1>(first.key));
  const auto name = [&](const auto& of) {
    if (shared(of) && !of(first).empty()) result.title += ", " + of(first);
  };
  name(environment);
  name(source);
  name(other);
  name(size);
  for (const Matrix& one : all) {
    std::vector<std::string> differing;
    const auto add = [&](const auto& of) {
      if (!shared(of) && !of(one).empty()) differing.push_back(of(one));
    };
    add(environment);
    add(source);
    add(other);
    add(size);
    const std::string row = fmt::format("{}", fmt::join(differing, ", "));
    for (Link link : one.links) {
      link.from = row;
      result.links.push_back(std::move(link));
    }
    for (const std::string& odd : one.odd) result.odd.push_back(row + ": " + odd);
  }
  return result;
}

/// Puts the matrices of one row that show the same metric into one, where the first of them was.
std::vector<Matrix> with_rows_merged(const std::vector<Matrix>& matrices) {
  std::map<GroupKey, std::vector<Matrix>> rows;
  for (const Matrix& matrix : matrices) {
    if (has_one_row(matrix)) rows[matrix.key].push_back(matrix);
  }
  std::vector<Matrix> merged;
  for (const Matrix& matrix : matrices) {
    std::vector<Matrix>& same = rows[matrix.key];
    if (!has_one_row(matrix) || same.size() == 1) {
      merged.push_back(matrix);
    } else if (!same.empty()) {
      merged.push_back(stacked(same));
      same.clear();
    }
  }
  return merged;
}

Chart chart_of(const Matrix& matrix) {
  const auto& [benchmark, metric, unit] = matrix.key;
  const std::vector<Link>& links = matrix.links;
  Chart chart;
  chart.kind = ChartKind::heat;
  chart.title = matrix.title;
  chart.settings = {{"metric", metric}, {"merged", matrix.merged}};
  chart.table.caption = matrix.title;
  chart.table.columns = {{"from", matrix.merged ? "row" : "from"},
                         {"to", "to"},
                         {"value", metric, ColumnKind::number, unit}};
  for (const Link& link : links) chart.table.rows.push_back({link.from, link.to, link.value});
  scale_columns(chart.table);
  const auto [least, most] = std::minmax_element(
      links.begin(), links.end(), [](const Link& a, const Link& b) { return a.value < b.value; });
  chart.summary =
      fmt::format("{}, from {} ({} to {}) to {} ({} to {}).", counted(links.size(), "link"),
                  quantity_text(least->value, unit), least->from, least->to,
                  quantity_text(most->value, unit), most->from, most->to);
  if (!matrix.odd.empty()) {
    chart.table.columns.push_back({"odd", "odd"});
    for (std::size_t i = 0; i < links.size(); ++i) {
      chart.table.rows[i].push_back(links[i].odd ? Field("slow") : Field());
    }
    chart.summary += fmt::format(" Odd: {}.", fmt::join(matrix.odd, "; "));
  }
  std::vector<std::string> faults;
  for (const Link& link : links) faults.push_back(link.fault);
  chart.summary += add_faults(chart.table, faults);
  return chart;
}

}  // namespace

std::vector<Chart> heat_charts(const std::vector<Environment>& environments) {
  std::vector<Matrix> matrices;
  for (const Environment& environment : environments) {
    for (Matrix& matrix : matrices_of(environment)) matrices.push_back(std::move(matrix));
  }
  matrices = with_rows_merged(matrices);
  // Charts that readers compare share one colour scale.
  std::map<std::pair<GroupKey, std::string>, std::pair<double, double>> ranges;
  for (const Matrix& matrix : matrices) {
    auto& [least, most] =
        ranges.try_emplace({matrix.key, matrix.other}, 1e300, -1e300).first->second;
    for (const Link& link : matrix.links) {
      least = std::min(least, link.value);
      most = std::max(most, link.value);
    }
  }
  std::vector<Chart> charts;
  for (const Matrix& matrix : matrices) {
    const auto [least, most] = ranges[{matrix.key, matrix.other}];
    charts.push_back(chart_of(matrix));
    // Links that differ by less than a tenth look alike.
    charts.back().settings["least"] = std::min(least, 0.9 * most);
    charts.back().settings["most"] = most;
  }
  return charts;
}

}  // namespace assay::report
