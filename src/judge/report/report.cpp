#include "judge/report/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/version.h"
#include "judge/report/chart_grouping.h"
#include "judge/report/charts/charts.h"
#include "judge/report/charts/partitions.h"
#include "judge/report/charts/scaling.h"
#include "judge/report/first_screen/first_screen.h"
#include "judge/report/number_text.h"
#include "judge/report/tables.h"

namespace assay::report {
namespace {

std::vector<std::string> names_of(const std::vector<Environment>& environments) {
  std::vector<std::string> names;
  for (const Environment& environment : environments) names.push_back(environment.results.name);
  return names;
}

/// Returns the meaning of the verdict and what to do about it.
VerdictExplanation explanation_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::equal:
      return {verdict, "The difference is proven to be smaller than the margin.",
              "Nothing is to be done."};
    case Verdict::faster:
      return {verdict, "B is proven to be faster by more than the margin.",
              "See what differs between the environments, and keep what makes B faster."};
    case Verdict::slower:
      return {verdict, "B is proven to be slower by more than the margin.",
              "Begin with the likeliest cause in what differs between the environments."};
    case Verdict::shifted:
      return {verdict, "A difference is proven, but not whether it is larger than the margin.",
              "Measure more pairs if that matters."};
    case Verdict::inconclusive:
      return {verdict, "Neither a difference nor equality is proven.",
              "Measure more pairs: the cell's reason says how many."};
    case Verdict::unstable:
      return {
          verdict, "No difference is proven, but several pairs lie far from the others.",
          "Find what disturbed them: other programs, heat, a changing clock. Some times below a "
          "microsecond alternate between two levels by themselves; then nothing is wrong."};
    case Verdict::invalid:
      break;
  }
  return {verdict, "The data cannot be judged.", "The cell's reason says why; fix it and repeat."};
}

/// Drops the runs of compared cells that form no pair, so that charts show the runs on which the
/// verdicts rest.
void keep_paired_runs(ReportInput& input) {
  const auto find = [&](const std::string& name) {
    return std::ranges::find(input.environments, name, [](const Environment& environment) {
      return environment.results.name;
    });
  };
  std::vector<std::vector<std::set<std::size_t>>> kept;  // pairs, by environment and series
  for (const Environment& environment : input.environments) {
    auto& pairs = kept.emplace_back(environment.results.series.size());
    for (const Comparison& comparison : input.comparisons) {
      const bool is_a = comparison.name_a == environment.results.name;
      if (!comparison.paired || (!is_a && comparison.name_b != environment.results.name)) continue;
      const auto other = find(is_a ? comparison.name_b : comparison.name_a);
      if (other == input.environments.end()) continue;
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        const Series* series = other->results.find(environment.results.series[i].key);
        if (series == nullptr) continue;
        for (const Point& point : series->points) {
          if (const auto pair = other->results.units[point.unit].pair) pairs[i].insert(*pair);
        }
      }
    }
  }
  for (std::size_t e = 0; e < kept.size(); ++e) {
    ResultSet& results = input.environments[e].results;
    for (std::size_t i = 0; i < kept[e].size(); ++i) {
      const std::set<std::size_t>& pairs = kept[e][i];
      if (pairs.empty()) continue;
      std::erase_if(results.series[i].points, [&](const Point& point) {
        const auto pair = results.units[point.unit].pair;
        return !pair || !pairs.contains(*pair);
      });
    }
  }
}

std::string suffix(std::size_t index, std::size_t count) {
  return count > 1 ? fmt::format("-{}", index + 1) : std::string();
}

void add_comparisons(const ReportInput& input, Document& document) {
  Chapter cells{"cells", "Verdict for every cell", "Verdicts"};
  cells.paragraphs = {
      "\"B against A\" is the change of the metric itself, the mean of its pairs, with the 95% "
      "interval of this cell alone; the medians of A and B are of the same pairs. A verdict holds "
      "when all cells are judged together, so a cell may need more than its interval. "
      "\"Detectable\" is the smallest difference in time that this many runs find four times in "
      "five."};
  Chapter ratios{"ratios", "How far apart", "Ratios"};
  ratios.paragraphs = {
      "How much more time B takes than A, with its 95% interval: to the right, B is slower. Within "
      "the shaded band, the margin, a difference does not matter. Hollow marks prove nothing."};
  Chapter causes{"environment", "What differs between the environments", "Environments"};
  causes.paragraphs = {
      "From the fingerprints stored with the results, the likeliest cause first. \"identity\" "
      "marks what only tells machines apart."};
  for (std::size_t i = 0; i < input.comparisons.size(); ++i) {
    const Comparison& comparison = input.comparisons[i];
    Table table = verdict_table(comparison);
    table.id = "cells-table" + suffix(i, input.comparisons.size());
    cells.blocks.emplace_back(std::move(table));
    for (Chart& chart : ratio_charts(comparison)) ratios.blocks.emplace_back(std::move(chart));
    if (comparison.environment.empty()) continue;
    Table differences = difference_table(comparison);
    differences.id = "differences" + suffix(i, input.comparisons.size());
    causes.blocks.emplace_back(std::move(differences));
  }
  document.chapters.push_back(std::move(cells));
  if (!ratios.blocks.empty()) document.chapters.push_back(std::move(ratios));
  if (causes.blocks.empty()) {
    causes.paragraphs = {"No difference was found, or the results carry no fingerprints."};
  }
  document.chapters.push_back(std::move(causes));
}

void add_curves(const ReportInput& input, const std::vector<Panel>& panels, Document& document) {
  const std::vector<std::string> names = names_of(input.environments);
  Chapter chapter{"curves", "Results by benchmark", "Benchmarks"};
  chapter.paragraphs = {
      "Bands and whiskers show the 95% interval of the median over runs (6 runs or more), the "
      "range of the runs (2 to 5), or the interval within the run (1). A ring marks the point from "
      "which a curve stays at or above 90% of its maximum; the dashed line is the roofline."};
  for (const Panel& panel : panels) {
    if (auto chart = curve_chart(panel, names)) chapter.blocks.emplace_back(std::move(*chart));
  }
  for (const Panel& panel : tuning_panels(input.environments)) {
    if (auto chart = curve_chart(panel, names)) chapter.blocks.emplace_back(std::move(*chart));
  }
  for (const Panel& panel : recorded_panels(input.environments)) {
    if (auto chart = curve_chart(panel, names)) chapter.blocks.emplace_back(std::move(*chart));
  }
  for (Chart& chart : memory_charts(input.environments)) {
    chapter.blocks.emplace_back(std::move(chart));
  }
  if (auto scaling = scaling_chapter(input.environments)) {
    document.chapters.push_back(std::move(*scaling));
  }
  std::vector<Chart> latency = latency_charts(input.environments);
  if (!latency.empty()) {
    Chapter serving{"serving", "Latency against throughput", "Serving"};
    serving.paragraphs = {
        "Each point is one load; each line is one environment as its load grows."};
    for (Chart& chart : latency) serving.blocks.emplace_back(std::move(chart));
    document.chapters.push_back(std::move(serving));
  }
  std::vector<Chart> heat = heat_charts(input.environments);
  if (!heat.empty()) {
    Chapter links{"links", "Links between devices", "Links"};
    for (Chart& chart : heat) links.blocks.emplace_back(std::move(chart));
    document.chapters.push_back(std::move(links));
  }
  if (!chapter.blocks.empty()) document.chapters.push_back(std::move(chapter));
}

void add_telemetry(const ReportInput& input, Document& document) {
  Chapter chapter{"telemetry", "Clocks, power and heat while measuring", "Telemetry"};
  chapter.paragraphs = {"Readings of each environment's last run, cell after cell."};
  for (const Environment& environment : input.environments) {
    TelemetryCharts telemetry = telemetry_charts(environment);
    for (Chart& chart : telemetry.charts) chapter.blocks.emplace_back(std::move(chart));
    if (telemetry.constants.empty()) continue;
    constexpr std::size_t most_named = 8;
    const std::size_t named = std::min(most_named, telemetry.constants.size());
    chapter.paragraphs.push_back(fmt::format(
        "{}: without change {}{}.", environment.results.name,
        fmt::join(telemetry.constants.begin(),
                  telemetry.constants.begin() + static_cast<std::ptrdiff_t>(named), ", "),
        named < telemetry.constants.size()
            ? fmt::format(" and {}", counted(telemetry.constants.size() - named, "more reading"))
            : ""));
  }
  const bool says_something = !chapter.blocks.empty() || chapter.paragraphs.size() > 1;
  if (says_something) document.chapters.push_back(std::move(chapter));
}

void add_method(const ReportInput& input, Table runs, Document& document) {
  Chapter chapter{"method", "How it was measured", "Method"};
  chapter.paragraphs = {
      "A run is one process; its value for a cell is the median of its samples. Environments are "
      "compared by their runs, not by samples. No sample is dropped: throttled ones are "
      "counted and kept. A cell has a value only if its result was verified in the same run."};
  for (const Comparison& comparison : input.comparisons) {
    chapter.paragraphs.push_back(fmt::format(
        "{} against {}: {} of logarithms of times, margin {:.2g}%, {:.2g}% chance of a false "
        "verdict per cell, at least {} independent values. EQUAL needs both mean and median proven "
        "to lie within the margin; {}.",
        comparison.name_b, comparison.name_a,
        comparison.paired ? "paired differences" : "unpaired differences (Welch)",
        100 * comparison.rule.margin, 100 * comparison.rule.alpha, least_units,
        comparison.paired
            ? "flipping the signs of whole pairs corrects differences for the number of cells"
            : "Holm's rule corrects differences for the number of cells"));
  }
  Table method = method_table(input.environments);
  method.id = "method-table";
  chapter.blocks.emplace_back(std::move(method));
  for (std::size_t i = 0; i < input.environments.size(); ++i) {
    Table facts = fact_table(input.environments[i].results);
    if (facts.rows.empty()) continue;
    facts.id = fmt::format("facts-{}", i + 1);
    chapter.blocks.emplace_back(std::move(facts));
  }
  document.chapters.push_back(std::move(chapter));
  Chapter values{"values", "Every run's value", "Every run"};
  runs.id = "runs";
  values.blocks.emplace_back(std::move(runs));
  document.chapters.push_back(std::move(values));
}

/// Gives charts and their tables ids, so that they can be referred to.
void number_charts(Document& document) {
  if (document.picture) document.picture->chart.table.id = "picture";
  std::size_t number = 0;
  for (Chapter& chapter : document.chapters) {
    for (Block& block : chapter.blocks) {
      if (auto* chart = std::get_if<Chart>(&block)) {
        chart->table.id = fmt::format("chart-{}", ++number);
      }
    }
  }
}

}  // namespace

Document make_document(ReportInput input) {
  Document document;
  Table every_run = runs_table(input.environments);
  keep_paired_runs(input);
  document.environments = names_of(input.environments);
  document.question = question_of(input);
  if (input.description != document.question) document.purpose = input.description;
  for (std::size_t i = 0; i < verdict_count; ++i) {
    const bool occurs =
        std::any_of(input.comparisons.begin(), input.comparisons.end(),
                    [&](const Comparison& comparison) { return comparison.all.counts[i] > 0; });
    if (occurs) document.verdicts.push_back(explanation_of(static_cast<Verdict>(i)));
  }
  document.made_by = fmt::format("assay {} ({}), {}", version(), git_hash(), input.time);
  const std::vector<Panel> panels = panels_of(input.environments);
  if (!input.comparisons.empty()) add_comparisons(input, document);
  add_curves(input, panels, document);
  if (!compares(input)) {
    Chapter results{input.comparisons.empty() ? "cells" : "results", "Results", "Results"};
    Table table = results_table(input.environments);
    table.id = results.id + "-table";
    results.blocks.emplace_back(std::move(table));
    document.chapters.push_back(std::move(results));
  }
  if (auto partitions = partitions_chapter(input)) {
    // This chapter follows the cells, because it is the purpose of the study.
    document.chapters.insert(document.chapters.begin() + 1, std::move(*partitions));
  }
  add_telemetry(input, document);
  add_method(input, std::move(every_run), document);
  document.answers = answers_of(input, panels);
  document.picture = picture_of(input, panels, document.chapters);
  document.headline = headline_of(input, document.chapters);
  document.notes = notes_of(input);
  input.environments.resize(input.environments.size() - input.beside);
  document.cards = cards_of(input, panels);
  number_charts(document);
  return document;
}

}  // namespace assay::report
