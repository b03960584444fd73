#include "cli/judge/history_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <tuple>

#include "cli/cell_names.h"
#include "cli/judge/differences_view.h"
#include "cli/table.h"
#include "core/json.h"
#include "core/units.h"

namespace assay::cli {
namespace {

constexpr std::size_t most_shown = 8;

/// "+2.1% slower": the change in time, so that the sign means the same for rates and latencies.
std::string step_text(const TrendChange& change, const Style& style) {
  const std::string text = fmt::format("{:+.2f}% {}", 100 * (change.time_ratio - 1),
                                       change.worse() ? "slower" : "faster");
  if (!change.sure) return text;
  return change.worse() ? style.red(text) : style.green(text);
}

std::string where(const HistoryKey& key) {
  return key.machine + ": " + key.device;
}

std::string series_text(const std::vector<Trend>& trends, std::size_t width, const Style& style) {
  std::string text;
  for (std::size_t begin = 0; begin < trends.size();) {
    const std::string place = where(trends[begin].series.key);
    Table table({{"cell"},
                 {"metric", Column::Align::left, 3},
                 {"runs", Column::Align::right},
                 {"first", Column::Align::left, 1},
                 {"last", Column::Align::left, 2},
                 {"latest", Column::Align::right},
                 {"latest change"}});
    std::size_t end = begin;
    while (end < trends.size() && where(trends[end].series.key) == place) ++end;
    const CellNames cells = cell_names(std::span(trends).subspan(begin, end - begin),
                                       [](const Trend& trend) { return trend.series.key.cell(); });
    for (std::size_t i = begin; i < end; ++i) {
      const Trend& trend = trends[i];
      const std::vector<HistoryPoint>& points = trend.series.points;
      table.add({cells.names[i - begin], trend.series.key.metric, fmt::format("{}", points.size()),
                 points.front().time.substr(0, 10), points.back().time.substr(0, 10),
                 format_in(points.back().value, trend.series.key.unit),
                 trend.changes.empty() ? "none"
                                       : step_text(trend.changes.back(), style) + " " +
                                             trend.changes.back().time.substr(0, 10)});
    }
    text +=
        style.bold(place) + "\n" + heading_text(cells, width) + table.render(width, style) + "\n";
    begin = end;
  }
  return text;
}

/// Changes between the same two runs have one cause and are shown together.
using Moment = std::tuple<std::string, std::string, std::string, std::string>;
struct Changed {
  const Trend* trend = nullptr;
  const TrendChange* change = nullptr;
};

std::string moment_text(const std::vector<Changed>& changed, bool all, std::size_t width,
                        const Style& style) {
  const TrendChange& first = *changed.front().change;
  std::string text = style.bold(first.time) + fmt::format(" run {} after {} on {}\n", first.run,
                                                          first.previous_run,
                                                          where(changed.front().trend->series.key));
  Table table({{"cell"},
               {"metric", Column::Align::left, 1},
               {"time"},
               {"p", Column::Align::right},
               {"over all series"}});
  const CellNames cells =
      cell_names(changed, [](const Changed& one) { return one.trend->series.key.cell(); });
  for (std::size_t i = 0; i < changed.size(); ++i) {
    const auto& [trend, change] = changed[i];
    table.add({cells.names[i], trend->series.key.metric, step_text(*change, style),
               fmt::format("{:.1g}", change->p), change->sure ? "sure" : "may be chance"});
  }
  text += heading_text(cells, width) + table.render(width, style);
  if (!first.environment_known) return text + "  the environments of the two runs are unknown\n";
  if (first.differences.empty()) return text + "  no recorded fact of the environment changed\n";
  std::vector<Difference> shown = first.differences;
  if (!all && shown.size() > most_shown) shown.resize(most_shown);
  text += differences_text(shown, width, style);
  if (shown.size() < first.differences.size()) {
    text += fmt::format("and {} more: --all\n", first.differences.size() - shown.size());
  }
  return text;
}

Json json_of(const TrendChange& change) {
  return {{"time", change.time},
          {"run", change.run},
          {"previous_run", change.previous_run},
          {"time_ratio", change.time_ratio},
          {"worse", change.worse()},
          {"p", change.p},
          {"sure", change.sure},
          {"environment_known", change.environment_known},
          {"differences", to_json(change.differences)}};
}

}  // namespace

std::string history_text(const std::vector<Trend>& trends, const ChangePointRule& rule, bool all,
                         std::size_t width, const Style& style) {
  std::string text = series_text(trends, width, style);
  std::map<Moment, std::vector<Changed>> moments;
  for (const Trend& trend : trends) {
    for (const TrendChange& change : trend.changes) {
      moments[{change.time, change.run, change.previous_run, where(trend.series.key)}].push_back(
          {&trend, &change});
    }
  }
  for (const auto& [moment, changed] : moments) {
    text += moment_text(changed, all, width, style) + "\n";
  }
  const auto worse = std::count_if(trends.begin(), trends.end(),
                                   [](const Trend& trend) { return trend.got_worse(); });
  return text +
         fmt::format(
             "{} series; the latest change of {} is for the worse (p < {:g} over all series)\n",
             trends.size(), worse, rule.p);
}

Json history_json(const std::vector<Trend>& trends, const ChangePointRule& rule) {
  Json json;
  json["window"] = rule.window;
  json["p"] = rule.p;
  json["magnitude"] = std::expm1(rule.magnitude);
  json["series"] = Json::array();
  for (const Trend& trend : trends) {
    const HistoryKey& key = trend.series.key;
    const std::vector<HistoryPoint>& points = trend.series.points;
    Json entry = {{"machine", key.machine}, {"device", key.device}, {"benchmark", key.benchmark}};
    entry["axes"] = Json::object();
    for (const auto& [axis, value] : key.axes) entry["axes"][axis] = value;
    entry["cell"] = key.cell();
    entry["metric"] = key.metric;
    entry["unit"] = key.unit;
    entry["better"] = name_of(key.better);
    entry["runs"] = points.size();
    entry["first"] = points.front().time;
    entry["last"] = points.back().time;
    entry["latest"] = points.back().value;
    entry["worse"] = trend.got_worse();
    entry["changes"] = Json::array();
    for (const TrendChange& change : trend.changes) entry["changes"].push_back(json_of(change));
    json["series"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace assay::cli
