#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.h"
#include "judge/report/charts/charts.h"
#include "judge/report/first_screen/first_screen.h"
#include "judge/report/number_text.h"

namespace assay::report {
namespace {

constexpr std::size_t most_shown = 12;

/// Returns the largest differences of all comparisons; those that are proven come first.
std::optional<MainChart> largest_differences(const std::vector<Comparison>& comparisons) {
  std::vector<RatioRow> rows;
  for (const Comparison& comparison : comparisons) {
    for (RatioRow& row : ratio_rows(comparison)) {
      if (comparisons.size() > 1) row.label = fmt::format("{}: {}", comparison.name_b, row.label);
      rows.push_back(std::move(row));
    }
  }
  if (rows.empty()) return std::nullopt;
  std::ranges::stable_sort(rows, [](const RatioRow& a, const RatioRow& b) {
    const bool proven_a = is_different(a.cell->judgement.verdict);
    const bool proven_b = is_different(b.cell->judgement.verdict);
    if (proven_a != proven_b) return proven_a;
    return std::abs(a.cell->effect.mean) > std::abs(b.cell->effect.mean);
  });
  MainChart picture;
  if (rows.size() > most_shown) {
    picture.link_text = fmt::format("All {} cells", rows.size());
    picture.chapter_id = "ratios";
    rows.resize(most_shown);
  }
  const Comparison& first = comparisons.front();
  picture.chart = ratio_chart(
      rows, first.rule.margin,
      comparisons.size() == 1
          ? fmt::format("Time of {} against {}, with 95% intervals", first.name_b, first.name_a)
          : std::string("Time of each environment against its baseline, with 95% intervals"));
  return picture;
}

/// Returns the share of its roofline that each benchmark reaches, the smallest first. Empty if
/// fewer than two have a roofline.
std::optional<MainChart> roofline_shares(const std::string& environment,
                                         const std::vector<Panel>& panels) {
  std::vector<KeyFigure> figures = key_figures(panels);
  std::erase_if(figures, [](const KeyFigure& figure) { return !figure.share(); });
  if (figures.size() < 2) return std::nullopt;
  MainChart picture;
  if (figures.size() > most_shown) {
    picture.link_text = "All results";
    picture.chapter_id = "cells";
    figures.resize(most_shown);
  }
  std::vector<NamedCell> named;
  for (const KeyFigure& figure : figures) {
    named.push_back({figure.panel->benchmark, figure.panel->metric, &figure.mark->axes});
  }
  const std::vector<std::string> names = short_names(named);
  Chart& chart = picture.chart;
  chart.kind = ChartKind::bars;
  chart.title = "Best share of the roofline by benchmark";
  chart.table.caption = chart.title;
  const auto percent = [](const char* key, const char* title) {
    return Column{key, title, ColumnKind::number, "1", 0.01, "%"};
  };
  chart.table.columns = {{"environment", "environment"},
                         {"label", "cell"},
                         percent("value", "share of the roofline"),
                         percent("low", "low"),
                         percent("high", "high")};
  Json texts = Json::array();
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const Mark& mark = *figures[i].mark;
    const double roof = mark.roof->rate;
    chart.table.rows.push_back({environment, names[i], mark.centre.median / roof,
                                mark.centre.low / roof, mark.centre.high / roof});
    texts.push_back(fmt::format("{:.0f}%, {}", 100 * *figures[i].share(),
                                quantity_text(mark.centre.median, figures[i].panel->unit)));
  }
  chart.summary =
      fmt::format("From {} ({}) to {} ({}).", names.front(), texts.front().get<std::string>(),
                  names.back(), texts.back().get<std::string>());
  chart.settings = {{"log", false},
                    {"roofs", Json::array({{{"value", 1.0}, {"source", "the roofline"}}})},
                    {"texts", std::move(texts)}};
  return picture;
}

/// Gives cells the names that tell them apart, which are shorter than their ids.
void shorten_cells(const std::vector<Environment>& environments, Table& table) {
  const auto column = std::ranges::find(table.columns, "cell", &Column::key);
  if (column == table.columns.end()) return;
  const auto place = static_cast<std::size_t>(column - table.columns.begin());
  std::vector<NamedCell> named;
  for (const auto& row : table.rows) {
    const auto* id = std::get_if<std::string>(&row[place]);
    for (const Environment& environment : environments) {
      const auto& all = environment.results.series;
      const auto series = std::ranges::find_if(
          all, [&](const Series& one) { return id != nullptr && one.key.cell == *id; });
      if (series == all.end()) continue;
      named.push_back({series->benchmark, "", &series->axes});
      break;
    }
  }
  if (named.size() != table.rows.size()) return;
  const std::vector<std::string> names = short_names(named);
  for (std::size_t i = 0; i < names.size(); ++i) table.rows[i][place] = names[i];
}

/// Returns the table's first rows, without columns for those who check a verdict.
Table without_details(const Table& table) {
  constexpr std::size_t most_rows = 8;
  Table headline = table;
  headline.id = "headline";
  headline.rows.resize(std::min(most_rows, table.rows.size()));
  if (headline.rows.size() < table.rows.size()) {
    headline.caption += fmt::format(": the first {} of {}", most_rows, table.rows.size());
  }
  for (std::size_t i = headline.columns.size(); i-- > 0;) {
    const bool is_long = headline.columns[i].key == "reason";
    if (!headline.columns[i].detail && !is_long) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    headline.columns.erase(headline.columns.begin() + at);
    for (auto& row : headline.rows) row.erase(row.begin() + at);
  }
  return headline;
}

std::optional<MainChart> first_chart(const std::vector<Chapter>& chapters, std::string_view id) {
  for (const Chapter& chapter : chapters) {
    if (chapter.id != id) continue;
    for (const Block& block : chapter.blocks) {
      const auto* chart = std::get_if<Chart>(&block);
      if (chart == nullptr) continue;
      MainChart picture{*chart};
      picture.chart.conditions.clear();
      return picture;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<MainChart> picture_of(const ReportInput& input, const std::vector<Panel>& panels,
                                    const std::vector<Chapter>& chapters) {
  const ReportKind kind = kind_of(input);
  if (kind == ReportKind::study) {
    if (auto sums = first_chart(chapters, "partitions")) return sums;
  }
  if (kind == ReportKind::study || compares(input)) return largest_differences(input.comparisons);
  if (kind == ReportKind::load) return first_chart(chapters, "serving");
  if (kind == ReportKind::scaling) return first_chart(chapters, "scaling");
  auto shares = roofline_shares(input.environments.front().results.name, panels);
  return shares && kind == ReportKind::machine ? shares : first_chart(chapters, "curves");
}

std::optional<Table> headline_of(const ReportInput& input, const std::vector<Chapter>& chapters) {
  const ReportKind kind = kind_of(input);
  const std::string_view chapter_id = kind == ReportKind::study     ? "partitions"
                                      : kind == ReportKind::scaling ? "scaling"
                                      : input.repeated              ? "results"
                                                                    : "cells";
  for (const Chapter& chapter : chapters) {
    if (chapter.id != chapter_id) continue;
    for (const Block& block : chapter.blocks) {
      const auto* table = std::get_if<Table>(&block);
      if (table == nullptr) continue;
      Table headline = without_details(*table);
      shorten_cells(input.environments, headline);
      return headline;
    }
  }
  return std::nullopt;
}

}  // namespace assay::report
