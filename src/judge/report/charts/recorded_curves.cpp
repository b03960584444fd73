// Curves that benchmarks recorded, such as the loss of a training run along its steps.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "judge/report/chart_grouping.h"
#include "judge/report/last_records.h"

namespace assay::report {
namespace {

const Curve* curve_of(const Record& record, const std::string& name) {
  const auto found = std::find_if(record.curves.begin(), record.curves.end(),
                                  [&](const Curve& curve) { return curve.name == name; });
  return found == record.curves.end() ? nullptr : &*found;
}

/// The curves `name` of records that have one.
Panel panel_of(const std::string& name, const std::vector<LastRecord>& records) {
  const std::vector<std::string> labels = labels_of(records);
  Panel panel;
  panel.benchmark = records.front().record->cell.benchmark();
  panel.metric = name;
  panel.unit = "1";
  panel.better = Better::lower;
  panel.x_axis = curve_of(*records.front().record, name)->along;
  for (std::size_t r = 0; r < records.size(); ++r) {
    const Curve& curve = *curve_of(*records[r].record, name);
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      Mark mark;
      mark.environment = records[r].environment;
      mark.line = labels[r];
      mark.x = curve.x[i];
      mark.label = fmt::format("{} {:g}", curve.along, mark.x);
      mark.centre = {curve.y[i], curve.y[i], curve.y[i], 1};
      panel.marks.push_back(std::move(mark));
    }
  }
  return panel;
}

}  // namespace

std::vector<Panel> recorded_panels(const std::vector<Environment>& environments) {
  std::vector<Panel> panels;
  for (const auto& [benchmark, records] : last_records(environments)) {
    std::set<std::string> names;
    for (const LastRecord& one : records) {
      for (const Curve& curve : one.record->curves) names.insert(curve.name);
    }
    for (const std::string& name : names) {
      std::vector<LastRecord> with;
      for (const LastRecord& one : records) {
        if (curve_of(*one.record, name) != nullptr) with.push_back(one);
      }
      panels.push_back(panel_of(name, with));
    }
  }
  return panels;
}

}  // namespace assay::report
