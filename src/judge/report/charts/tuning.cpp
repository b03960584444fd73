// What a search tried: every run's result in the order of runs, and the best so far.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "judge/report/chart_grouping.h"
#include "results/store/comparable_metrics.h"

namespace assay::report {
namespace {

Mark mark_of(std::size_t environment, const char* line, std::size_t run, double value,
             const Record& record) {
  Mark mark;
  mark.environment = environment;
  mark.line = line;
  mark.label = record.cell.id();
  mark.x = static_cast<double>(run);
  mark.centre = {value, value, value, 1};
  return mark;
}

/// Adds the runs of one environment, in time order, to the panel.
void add_runs(const std::vector<const Record*>& trials, std::size_t environment, Panel& panel) {
  std::vector<Mark> best_so_far;
  double best = 0;
  for (std::size_t run = 0; run < trials.size(); ++run) {
    const Record& record = *trials[run];
    const std::vector<Figure> figures = figures_of(record);
    if (figures.empty()) continue;
    const Figure& figure = figures.front();
    panel.metric = figure.metric;
    panel.unit = figure.unit;
    panel.better = figure.better;
    const bool better = figure.better == Better::lower ? figure.value < best : figure.value > best;
    if (best_so_far.empty() || better) best = figure.value;
    panel.marks.push_back(mark_of(environment, "each run", run + 1, figure.value, record));
    best_so_far.push_back(mark_of(environment, "best so far", run + 1, best, record));
  }
  panel.marks.insert(panel.marks.end(), best_so_far.begin(), best_so_far.end());
}

/// What the search of a trial tuned: a cell of a benchmark, or a program.
std::string tuned_by(const Record& trial) {
  const Cell& cell = trial.cell;
  return cell.text(setting_axis).empty() ? cell.benchmark() : without_axis(cell, setting_axis).id();
}

}  // namespace

std::vector<Panel> tuning_panels(const std::vector<Environment>& environments) {
  std::map<std::string, Panel> panels;  // by what was tuned
  for (std::size_t i = 0; i < environments.size(); ++i) {
    std::map<std::string, std::vector<const Record*>> trials;
    for (const Record& record : environments[i].records) {
      if (is_trial(record)) trials[tuned_by(record)].push_back(&record);
    }
    for (const auto& [name, runs] : trials) {
      Panel& panel = panels[name];
      panel.benchmark = name;
      panel.x_axis = "run of the search";
      add_runs(runs, i, panel);
    }
  }
  std::vector<Panel> drawn;
  for (auto& [name, panel] : panels) {
    if (!panel.marks.empty()) drawn.push_back(std::move(panel));
  }
  return drawn;
}

}  // namespace assay::report
