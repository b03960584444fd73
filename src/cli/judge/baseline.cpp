// assay baseline: accepted runs in one file to compare with.
#include "judge/compare/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/cell_names.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/judge/left_out_view.h"
#include "cli/table.h"
#include "core/json.h"
#include "core/units.h"
#include "core/write_file.h"
#include "results/record/cell_order.h"
#include "statistics/summary.h"

namespace assay::cli::baseline_command {
namespace {

/// Least, median and greatest value.
std::array<double, 3> spread_of(const Series& series) {
  std::vector<double> values;
  for (const Point& point : series.points) values.push_back(point.value);
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  return {*least, median(values), *greatest};
}

Json json_of(const Baseline& baseline) {
  Json json;
  json["runs"] = baseline.results.units.size();
  if (baseline.results.emulated()) json["emulated"] = true;
  json["series"] = Json::array();
  for (const Series& series : baseline.results.series) {
    const auto [least, median, greatest] = spread_of(series);
    json["series"].push_back({{"cell", series.key.cell},
                              {"metric", series.key.metric},
                              {"unit", series.unit},
                              {"runs", series.points.size()},
                              {"minimum", least},
                              {"median", median},
                              {"maximum", greatest}});
  }
  json["left_out"] = to_json(baseline.left_out);
  json["problems"] = baseline.problems;
  return json;
}

std::string text_of(const Baseline& baseline, std::size_t width, const Style& style) {
  std::string text = fmt::format("{} {} runs, {} series{}\n", style.bold("accepted:"),
                                 baseline.results.units.size(), baseline.results.series.size(),
                                 baseline.results.emulated() ? ", from a model, not measured" : "");
  Table table({{"cell"},
               {"metric", Column::Align::left, 3},
               {"runs", Column::Align::right},
               {"least", Column::Align::right, 1},
               {"median", Column::Align::right},
               {"greatest", Column::Align::right, 1}});
  std::vector<const Series*> all;
  for (const Series& series : baseline.results.series) all.push_back(&series);
  std::stable_sort(all.begin(), all.end(), [](const Series* a, const Series* b) {
    if (a->benchmark != b->benchmark) return a->benchmark < b->benchmark;
    return comes_before(a->axes, b->axes);
  });
  const CellNames cells = cell_names(all, [](const Series* series) { return series->key.cell; });
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Series& series = *all[i];
    const auto [least, median, greatest] = spread_of(series);
    table.add({cells.names[i], series.key.metric, fmt::format("{}", series.points.size()),
               format_in(least, series.unit), format_in(median, series.unit),
               format_in(greatest, series.unit)});
  }
  text += heading_text(cells, width) + table.render(width, style) +
          left_out_text(baseline.left_out, width, style);
  for (const std::string& problem : baseline.problems) text += "note: " + problem + "\n";
  return text;
}

Status write(const Baseline& baseline, const std::string& file) {
  const std::string text = baseline_text(baseline);
  // A store may hold results that a baseline must not, so do not write a file that compare would
  // refuse.
  TRY(parse_baseline(text, file));
  return write_file(file, text);
}

int run(const Arguments& arguments, Terminal& terminal) {
  const bool dry = arguments.has("--dry-run");
  const std::string file = arguments.get("--output");
  if (file.empty() && !dry) {
    return report(terminal,
                  {ErrorKind::usage,
                   "no output file: give -o FILE, or --dry-run to see what would be written"});
  }
  BaselineRule rule;
  rule.allow_throttled = arguments.has("--allow-throttled");
  const auto baseline = make_baseline(arguments.positionals, rule);
  if (!baseline.ok()) return report(terminal, baseline.error());
  if (!dry) {
    const Status written = write(*baseline, file);
    if (!written.ok()) return report(terminal, written.error());
  }
  terminal.print(
      arguments.has("--json")
          ? json_line(json_of(*baseline)) + "\n"
          : text_of(*baseline, static_cast<std::size_t>(terminal.width()), terminal.out_style()));
  terminal.note(dry ? "nothing written: --dry-run\n" : fmt::format("{} written\n", file));
  return exit_ok;
}

const Command command = {
    .name = "baseline",
    .summary = "Keep accepted runs as a baseline to compare with",
    .group = CommandGroup::compare,
    .positionals = "STORE...",
    .least_positionals = 1,
    .most_positionals = 4096,
    .details =
        R"(STORE is what `assay compare` accepts, except another baseline. A run counts in a cell if it
passed, was verified, has no fault (docs/method.md), was throttled in at most a tenth of its
samples, and is not an outlier among the runs: medians and MADs, Holm's correction over all runs
and cells at 5%. A cell needs at least 6 remaining runs. Runs and cells left out are listed with
the reason. `assay compare FILE STORE` then compares STORE with the baseline: slower, faster or
undecided; never EQUAL, since the two were not measured in turns.

  assay baseline results/accepted --dry-run
  assay baseline results/monday results/tuesday -o node7.baseline
  assay compare node7.baseline results/today

)",
    .options =
        {
            {"--output", "FILE", "where to write, also -o", "", false, "--out"},
            {"--dry-run", "", "only show what would be accepted", ""},
            {"--allow-throttled", "",
             "accept throttled runs, for work that always hits the power cap", ""},
        },
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::baseline_command
