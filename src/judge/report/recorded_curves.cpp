// Curves that benchmarks recorded, such as the loss of a training run along its steps.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "judge/report/panels.h"

namespace assay::report {
namespace {

/// A cell's curve; of several runs the last one.
struct Recorded {
  std::size_t environment = 0;
  const Record* record = nullptr;
  const Curve* curve = nullptr;
};

/// The cell's values of the axes that differ among the curves.
std::string line_of(const Record& record, const std::set<std::string>& varying) {
  std::string text;
  for (const auto& [axis, value] : record.cell.values()) {
    if (varying.contains(axis)) {
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", axis, value);
    }
  }
  return text;
}

Panel panel_of(const std::vector<Recorded>& curves) {
  const Recorded& first = curves.front();
  std::set<std::string> varying;
  for (const Recorded& one : curves) {
    for (const auto& [axis, value] : one.record->cell.values()) {
      if (first.record->cell.text(axis) != value) varying.insert(axis);
    }
  }
  Panel panel;
  panel.benchmark = first.record->cell.benchmark();
  panel.metric = first.curve->name;
  panel.unit = "1";
  panel.better = Better::lower;
  panel.x_axis = first.curve->along;
  for (const Recorded& one : curves) {
    const std::string line = line_of(*one.record, varying);
    for (std::size_t i = 0; i < one.curve->x.size(); ++i) {
      Mark mark;
      mark.environment = one.environment;
      mark.line = line;
      mark.x = one.curve->x[i];
      mark.label = fmt::format("{} {:g}", one.curve->along, mark.x);
      const double y = one.curve->y[i];
      mark.centre = {y, y, y, 1};
      panel.marks.push_back(std::move(mark));
    }
  }
  return panel;
}

}  // namespace

std::vector<Panel> recorded_panels(const std::vector<Environment>& environments) {
  std::map<std::pair<std::string, std::string>, std::vector<Recorded>> groups;
  for (std::size_t i = 0; i < environments.size(); ++i) {
    for (const Record& record : environments[i].records) {
      if (record.status != RecordStatus::passed) continue;
      for (const Curve& curve : record.curves) {
        std::vector<Recorded>& group = groups[{record.cell.benchmark(), curve.name}];
        const auto known = std::find_if(group.begin(), group.end(), [&](const Recorded& one) {
          return one.environment == i && one.record->cell == record.cell;
        });
        if (known != group.end()) {
          *known = {i, &record, &curve};
        } else {
          group.push_back({i, &record, &curve});
        }
      }
    }
  }
  std::vector<Panel> panels;
  for (const auto& [key, curves] : groups) panels.push_back(panel_of(curves));
  return panels;
}

}  // namespace assay::report
