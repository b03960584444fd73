// What a search tried: every run's result in the order of runs, and the best so far.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "judge/report/panels.h"

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
    if (record.status != RecordStatus::passed || record.metrics.empty()) continue;
    const Metric& metric = record.metrics.front();
    panel.metric = metric.name;
    panel.unit = metric.unit;
    panel.better = metric.better;
    const bool better = metric.better == Better::lower ? metric.value < best : metric.value > best;
    if (best_so_far.empty() || better) best = metric.value;
    panel.marks.push_back(mark_of(environment, "each run", run + 1, metric.value, record));
    best_so_far.push_back(mark_of(environment, "best so far", run + 1, best, record));
  }
  panel.marks.insert(panel.marks.end(), best_so_far.begin(), best_so_far.end());
}

}  // namespace

std::vector<Panel> tuning_panels(const std::vector<Environment>& environments) {
  std::map<std::string, Panel> panels;  // by what was tuned
  for (std::size_t i = 0; i < environments.size(); ++i) {
    std::map<std::string, std::vector<const Record*>> trials;
    for (const Record& record : environments[i].records) {
      if (is_trial(record)) trials[record.cell.benchmark()].push_back(&record);
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
