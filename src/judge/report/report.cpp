#include "judge/report/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/units.h"
#include "core/version.h"
#include "judge/compare/emulated.h"
#include "judge/compare/sentences.h"
#include "judge/report/chart_grouping.h"
#include "judge/report/charts/charts.h"
#include "judge/report/charts/partitions.h"
#include "judge/report/charts/scaling.h"
#include "judge/report/number_text.h"
#include "judge/report/tables.h"
#include "machine/telemetry/summary.h"

namespace assay::report {
namespace {

constexpr std::size_t most_warnings = 20;

std::vector<std::string> names_of(const std::vector<Environment>& environments) {
  std::vector<std::string> names;
  for (const Environment& environment : environments) names.push_back(environment.results.name);
  return names;
}

/// Returns "AMD Instinct MI300X, AMD EPYC 9654; measured 2026-11-21 to 2026-11-23; differences
/// below 2% do not matter".
std::string about_of(const ReportInput& input) {
  std::vector<std::string> devices;
  std::set<std::string> known, days;
  for (const Environment& environment : input.environments) {
    for (const Unit& unit : environment.results.units) {
      const bool fresh = !unit.device.empty() && known.insert(unit.device).second;
      if (fresh) devices.push_back(unit.device);
      constexpr std::size_t date = 10;  // 2026-11-21
      if (unit.time.size() >= date) days.insert(unit.time.substr(0, date));
    }
  }
  constexpr std::size_t most_devices = 4;
  if (devices.size() > most_devices) {
    const std::size_t more = devices.size() - most_devices;
    devices.resize(most_devices);
    devices.push_back(counted(more, "more device"));
  }
  std::vector<std::string> parts;
  if (!devices.empty()) parts.push_back(fmt::format("{}", fmt::join(devices, ", ")));
  if (!days.empty()) {
    const bool measured = std::ranges::none_of(
        input.environments,
        [](const Environment& environment) { return environment.results.emulated(); });
    parts.push_back(fmt::format("{} {}{}", measured ? "measured" : "from a model, computed",
                                *days.begin(), days.size() == 1 ? "" : " to " + *days.rbegin()));
  }
  if (!input.comparisons.empty()) {
    parts.push_back(fmt::format("differences below {:.3g}% do not matter",
                                100 * input.comparisons.front().rule.margin));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// Returns the meaning of the verdict and what to do about it.
Word word_of(Verdict verdict) {
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

std::string headline_of(const Comparison& comparison) {
  return std::string(comparison.emulated ? of_a_model : "") +
         ruling_sentence(comparison, comparison.name_a, comparison.name_b);
}

void summarize_comparison(const Comparison& comparison, Document& document) {
  document.headline = headline_of(comparison);
  document.verdict = comparison.all.judgement.verdict;
  const auto count = [&](Verdict verdict) {
    return comparison.all.counts[static_cast<std::size_t>(verdict)];
  };
  // If a cell is INVALID, a mean over all cells is meaningless.
  const bool judged = count(Verdict::invalid) == 0 && !comparison.cells.empty();
  if (judged) {
    const std::string& a = comparison.name_a;
    const std::string& b = comparison.name_b;
    const std::string bound = bound_sentence(comparison, a, b);
    document.reason = time_sentence(comparison.all, a, b) + (bound.empty() ? "" : " ") + bound;
  }
  const bool open =
      document.verdict == Verdict::inconclusive || document.verdict == Verdict::unstable;
  if (open && comparison.most_taken > much_taken) {
    document.reason += fmt::format(
        "{}Other programs and the hypervisor used up to {} of the CPUs' time during some runs: on "
        "a "
        "quieter machine, fewer pairs prove more.",
        document.reason.empty() ? "" : " ", format_share(comparison.most_taken));
  }
  for (std::size_t i = 0; i < verdict_count; ++i) {
    const auto verdict = static_cast<Verdict>(i);
    if (count(verdict) == 0) continue;
    document.tiles.push_back({fmt::format("{} of {}", count(verdict), comparison.cells.size()),
                              fmt::format("cells {}", name_of(verdict))});
  }
  // A large unproven number would be mistaken for a result.
  if (judged && is_different(comparison.all.mean_verdict.value_or(Verdict::inconclusive))) {
    document.tiles.push_back({fmt::format("{:+.2f}%", 100 * (*comparison.all.ratio - 1)),
                              "time of B against A, geometric mean"});
  }
  document.tiles.push_back({fmt::format("{} + {}", comparison.units_a, comparison.units_b),
                            comparison.paired ? "runs, paired" : "runs, not paired"});
  const auto likely = std::count_if(
      comparison.environment.begin(), comparison.environment.end(),
      [](const Difference& difference) { return difference.likelihood == Likelihood::high; });
  if (!comparison.environment.empty()) {
    document.tiles.push_back({fmt::format("{}", likely), "likely causes in the environments"});
  }
}

/// Returns the best value of each benchmark's headline metrics, its cell, and its share of the
/// roofline.
std::vector<Tile> key_figures(const std::vector<Environment>& environments) {
  struct Best {
    const Panel* panel = nullptr;
    const Mark* mark = nullptr;
  };
  const std::vector<Panel> panels = panels_of(environments);
  std::vector<Best> best;  // one for each benchmark and metric
  using Key = std::pair<std::string_view, std::string_view>;
  std::map<Key, std::size_t> places;
  for (const Panel& panel : panels) {
    for (const Mark& mark : panel.marks) {
      if (!mark.fault.empty()) continue;
      const auto [place, fresh] = places.emplace(Key(panel.benchmark, panel.metric), best.size());
      if (fresh) best.push_back({&panel, &mark});
      Best& known = best[place->second];
      const double value = mark.centre.median, least = known.mark->centre.median;
      const bool better = panel.better == Better::higher ? value > least : value < least;
      if (better) known = {&panel, &mark};
    }
  }
  constexpr std::size_t most = 6;
  if (best.size() > most) best.resize(most);
  std::vector<Tile> tiles;
  for (const auto& [panel, mark] : best) {
    std::string label =
        fmt::format("{} {} {}", panel->better == Better::higher ? "highest" : "lowest",
                    panel->benchmark, panel->metric);
    // Repeated names are skipped: a single category has the name of its line, a single mark that of
    // the metric.
    std::vector<std::string> parts = {panel->metric};
    for (const std::string& part : {panel->facet, mark->line, mark->label}) {
      const bool said = std::find(parts.begin(), parts.end(), part) != parts.end();
      if (!part.empty() && !said) parts.push_back(part);
    }
    if (parts.size() > 1) {
      label += fmt::format(": {}", fmt::join(parts.begin() + 1, parts.end(), " "));
    }
    if (mark->roof && mark->roof->rate > 0) {
      label +=
          fmt::format("; {:.1f}% of the roofline", 100 * mark->centre.median / mark->roof->rate);
    }
    tiles.push_back({quantity_text(mark->centre.median, panel->unit), std::move(label)});
  }
  return tiles;
}

void summarize_alone(const std::vector<Environment>& environments, Document& document) {
  std::size_t series = 0, faults = 0, voids = 0;
  double most_taken = 0;
  std::set<std::string> benchmarks;
  for (const Environment& environment : environments) {
    most_taken = std::max(most_taken, environment.results.most_taken);
    series += environment.results.series.size();
    faults += environment.results.faults.size();
    voids += environment.results.voids.size();
    for (const Series& one : environment.results.series) benchmarks.insert(one.benchmark);
  }
  const ResultSet& first = environments.front().results;
  document.headline =
      std::string(first.emulated() ? of_a_model : "") +
      fmt::format("{}: {} of {}, {}.", first.name, counted(series, "result"),
                  counted(benchmarks.size(), "benchmark"),
                  faults > 0  ? counted(faults, "cell") + " that cannot be trusted"
                  : voids > 0 ? counted(voids, "cell") + " void in part"
                  : most_taken > much_taken
                      ? fmt::format("other programs used up to {} of the CPUs during some of them, "
                                    "so expect better values on an idle machine",
                                    format_share(most_taken))
                      : std::string("none of them doubtful"));
  document.tiles = key_figures({environments.front()});  // without results beside it
  for (Tile& tile : document.tiles) {
    if (first.emulated()) tile.label += "; from a model";
  }
  document.tiles.push_back(
      {fmt::format("{}", first.units.size()), first.units.size() == 1 ? "run" : "runs"});
  if (faults > 0)
    document.tiles.push_back({fmt::format("{}", faults), "cells that cannot be trusted"});
}

std::string suffix(std::size_t index, std::size_t count) {
  return count > 1 ? fmt::format("-{}", index + 1) : std::string();
}

void add_comparisons(const ReportInput& input, Document& document) {
  Chapter cells{"cells", "Verdict for every cell", "Verdicts"};
  cells.paragraphs = {
      "\"B against A\" is the change of the metric itself, the mean of its pairs, with the 95% "
      "interval of this cell alone; the medians of A and B are of all their runs. A verdict holds "
      "when all cells are judged together, so a cell may need more than its interval. "
      "\"Detectable\" is the smallest difference in time that this many runs find four times in "
      "five."};
  Chapter ratios{"ratios", "How far apart", "Ratios"};
  ratios.paragraphs = {
      "Each dot is B over A with its 95% interval; the shaded band is the margin within which a "
      "difference does not matter."};
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

void add_curves(const ReportInput& input, Document& document) {
  const std::vector<std::string> names = names_of(input.environments);
  Chapter chapter{"curves", "Results by benchmark", "Benchmarks"};
  chapter.paragraphs = {
      "Bands and whiskers show the 95% interval of the median over runs (6 runs or more), the "
      "range of the runs (2 to 5), or the interval within the run (1). A ring marks the point from "
      "which a curve stays at or above 90% of its maximum; the dashed line is the roofline."};
  for (const Panel& panel : panels_of(input.environments)) {
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

void add_method(const ReportInput& input, Document& document) {
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
  Table runs = runs_table(input.environments);
  runs.id = "runs";
  values.blocks.emplace_back(std::move(runs));
  document.chapters.push_back(std::move(values));
}

void add_warnings(const ReportInput& input, Document& document) {
  std::set<std::string> seen;
  const auto add = [&](const std::string& warning) {
    if (seen.insert(warning).second) document.warnings.push_back(warning);
  };
  for (const Environment& environment : input.environments) {
    if (!environment.results.emulated()) continue;
    add(
        fmt::format("{} is from an emulated device or a simulated server: its times and rates come "
                    "from a model; nothing was measured.",
                    environment.results.name));
  }
  for (const Comparison& comparison : input.comparisons) {
    if (!comparison.paired) {
      add(
          fmt::format("{} and {} were not measured in turns: drift between them cannot be told "
                      "from a difference, so nothing can be EQUAL.",
                      comparison.name_a, comparison.name_b));
    }
    for (const std::string& problem : comparison.problems) add(problem);
  }
  for (const Environment& environment : input.environments) {
    const ResultSet& set = environment.results;
    for (const auto& [cell, fault] : set.faults) {
      add(fmt::format("{}: {}: {}", set.name, cell, fault));
    }
    if (!input.comparisons.empty()) continue;  // comparisons list these already
    for (const std::string& problem : set.problems) {
      add(fmt::format("{}: {}", set.name, problem));
    }
  }
  if (document.warnings.size() > most_warnings) {
    const std::size_t more = document.warnings.size() - most_warnings;
    document.warnings.resize(most_warnings);
    document.warnings.push_back(
        fmt::format("And {}{}.", counted(more, "more note"),
                    input.comparisons.empty() ? "" : ": `assay compare --json` lists them all"));
  }
}

/// Gives charts and their tables ids, so that they can be referred to.
void number_charts(Document& document) {
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

Document make_document(const ReportInput& input) {
  Document document;
  document.environments = names_of(input.environments);
  document.title = input.title;
  if (document.title.empty()) {
    for (const std::string& name : document.environments) {
      document.title += (document.title.empty() ? "" : " and ") + name;
    }
  }
  document.purpose = input.description;
  document.about = about_of(input);
  for (std::size_t i = 0; i < verdict_count; ++i) {
    const bool occurs =
        std::any_of(input.comparisons.begin(), input.comparisons.end(),
                    [&](const Comparison& comparison) { return comparison.all.counts[i] > 0; });
    if (occurs) document.words.push_back(word_of(static_cast<Verdict>(i)));
  }
  document.made_by = fmt::format("assay {} ({}), {}", version(), git_hash(), input.time);
  if (input.comparisons.empty()) {
    summarize_alone(input.environments, document);
    Chapter results{"cells", "Results", "Results"};
    Table table = results_table(input.environments);
    table.id = "cells-table";
    results.blocks.emplace_back(std::move(table));
    add_warnings(input, document);
    add_curves(input, document);
    document.chapters.push_back(std::move(results));
  } else {
    summarize_comparison(input.comparisons.front(), document);
    for (std::size_t i = 1; i < input.comparisons.size(); ++i) {
      document.headline += " " + headline_of(input.comparisons[i]);
      document.verdict.reset();  // several comparisons have no common verdict
      document.tiles.clear();
      document.reason.clear();
    }
    add_warnings(input, document);
    add_comparisons(input, document);
    add_curves(input, document);
  }
  if (auto partitions = partitions_chapter(input)) {
    // This chapter follows the cells, because it is the purpose of the study.
    document.chapters.insert(document.chapters.begin() + 1, std::move(*partitions));
  }
  add_telemetry(input, document);
  add_method(input, document);
  number_charts(document);
  return document;
}

}  // namespace assay::report
