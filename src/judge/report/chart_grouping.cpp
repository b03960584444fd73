#include "judge/report/chart_grouping.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "core/json.h"
#include "judge/report/metric_choice.h"

namespace assay::report {
namespace {

constexpr std::size_t least_on_axis = 3;  // fewer points are not a curve
constexpr std::size_t most_colours = 6;   // the number of distinguishable colours
constexpr std::size_t most_categories = 30;

/// Axes that readers expect on the x axis, the most common first.
constexpr std::array<std::string_view, 10> main_axes = {
    "size",  "bytes", "max_concurrency", "concurrency", "request_rate",
    "shape", "batch", "batch_size",      "n",           "launches"};

struct Entry {
  std::size_t environment;
  const Series* series;
  std::string fault;
};

struct AxisValues {
  std::string name;
  std::vector<std::string> values;  ///< without duplicates
  bool varies() const { return values.size() > 1; }
};

std::vector<AxisValues> axis_values(const std::vector<Entry>& entries) {
  std::vector<AxisValues> axes;
  std::map<std::string_view, std::size_t> places;
  std::map<std::string_view, std::set<std::string_view>> known;
  for (const Entry& entry : entries) {
    for (const auto& [name, value] : entry.series->axes) {
      const auto [place, fresh] = places.emplace(name, axes.size());
      if (fresh) axes.push_back({name, {}});
      if (known[name].insert(value).second) axes[place->second].values.push_back(value);
    }
  }
  return axes;
}

/// A model's size such as 7B is a name and not a number of bytes.
bool has_words(const AxisValues& axis) {
  return axis.name == "model" || !axis_number(axis.values.front());
}

/// "inf", a request rate without limit, has no position on an axis, but the axis stays numeric.
bool is_numeric(const AxisValues& axis) {
  if (axis.name == "model") return false;
  std::size_t numbers = 0;
  for (const std::string& value : axis.values) {
    if (axis_number(value)) {
      ++numbers;
    } else if (value != "inf") {
      return false;
    }
  }
  return numbers >= least_on_axis;
}

std::vector<const Axes*> cells_of(const std::vector<Entry>& entries) {
  std::vector<const Axes*> cells;
  for (const Entry& entry : entries) cells.push_back(&entry.series->axes);
  return cells;
}

/// Returns whether another axis that has words determines this axis's number, as a model's name
/// determines its batch. Readers then look for the words, and the numbers form no line.
bool follows_from_words(const AxisValues& axis, const std::vector<const AxisValues*>& axes,
                        const std::vector<Entry>& entries) {
  return std::any_of(axes.begin(), axes.end(), [&](const AxisValues* other) {
    return other != &axis && has_words(*other) &&
           follows(axis.name, other->name, cells_of(entries));
  });
}

const AxisValues* main_axis(const std::vector<const AxisValues*>& axes,
                            const std::vector<Entry>& entries) {
  const auto fits = [&](const AxisValues& axis) {
    return is_numeric(axis) && !follows_from_words(axis, axes, entries);
  };
  for (const std::string_view name : main_axes) {
    for (const AxisValues* axis : axes) {
      if (axis->name == name && fits(*axis)) return axis;
    }
  }
  for (const AxisValues* axis : axes) {
    const bool only_one = axes.size() == 1;
    if (fits(*axis) && (only_one || axis->name != run_length_axis)) return axis;
  }
  return nullptr;
}

/// Returns the axes that tell categories apart, as telling_axes() does. run_length_axis is the last
/// of them, and only if the others do not determine it.
std::vector<std::string> axes_of_categories(const std::vector<Entry>& entries) {
  std::vector<Axes> others;
  std::vector<const Axes*> cells;
  others.reserve(entries.size());
  for (const Entry& entry : entries) {
    Axes& axes = others.emplace_back(entry.series->axes);
    std::erase_if(axes, [](const auto& axis) { return axis.first == run_length_axis; });
    cells.push_back(&axes);
  }
  std::vector<std::string> telling = telling_axes(cells);
  std::map<Axes, std::string_view> lengths;
  const bool told = std::ranges::all_of(entries, [&](const Entry& entry) {
    const auto at = static_cast<std::size_t>(&entry - entries.data());
    const std::string_view length = value_of(entry.series->axes, run_length_axis);
    return lengths.emplace(others[at], length).first->second == length;
  });
  if (!told) telling.emplace_back(run_length_axis);
  return telling;
}

/// Returns whether an environment has no series with this axis, as published figures lack axes of
/// assay's benchmarks and have others.
bool is_foreign(std::string_view axis, const std::vector<Entry>& entries) {
  std::set<std::size_t> all, with_it;
  for (const Entry& entry : entries) {
    all.insert(entry.environment);
    if (!value_of(entry.series->axes, axis).empty()) with_it.insert(entry.environment);
  }
  return with_it.size() < all.size();
}

/// The layout of one group of series on panels.
struct Layout {
  const AxisValues* x = nullptr;
  bool links = false;
  std::vector<std::string> line_axes, facet_axes;
  std::vector<std::string> constants;  ///< axes with one value
};

std::string joined(const Axes& axes, const std::vector<std::string>& names, bool bare) {
  std::string text;
  for (const std::string& name : names) {
    const std::string_view value = value_of(axes, name);
    if (value.empty()) continue;
    if (!text.empty()) text += ' ';
    text += bare ? std::string(value) : fmt::format("{}={}", name, value);
  }
  return text;
}

Layout layout_of(const std::vector<AxisValues>& axes, const std::vector<Entry>& entries,
                 bool several_environments) {
  Layout layout;
  Axes all;
  for (const AxisValues& axis : axes) all.emplace_back(axis.name, axis.values.front());
  const auto ends = link_axes(all);
  std::vector<const AxisValues*> free;
  for (const AxisValues& axis : axes) {
    const bool is_end = ends && (axis.name == ends->first || axis.name == ends->second);
    if (is_end) {
      layout.links = layout.links || axis.varies();
    } else if (axis.varies()) {
      free.push_back(&axis);
    } else {
      layout.constants.push_back(axis.name);
    }
  }
  layout.x = main_axis(free, entries);
  std::erase(free, layout.x);
  // The number of requests usually follows from the load, so it is not an axis of its own.
  if (layout.x != nullptr) {
    std::erase_if(free, [](const AxisValues* axis) { return axis->name == run_length_axis; });
  }
  if (layout.links) {
    layout.line_axes = {ends->first, ends->second};
  } else if (layout.x != nullptr && !several_environments) {
    const AxisValues* lines = nullptr;
    for (const AxisValues* axis : free) {
      if (axis->values.size() > most_colours) continue;
      if (lines == nullptr || axis->values.size() > lines->values.size()) lines = axis;
    }
    if (lines != nullptr) layout.line_axes = {lines->name};
    std::erase(free, lines);
  } else if (layout.x != nullptr) {
    // A panel for each value of an axis that an environment lacks would not show that environment.
    std::erase_if(free, [&](const AxisValues* axis) {
      const bool is_line = axis->values.size() <= most_colours && is_foreign(axis->name, entries);
      if (is_line) layout.line_axes.push_back(axis->name);
      return is_line;
    });
  } else {
    // Every combination of distinguishing axes is a category. If there are too many, the first axis
    // splits them into panels.
    std::vector<const AxisValues*> telling;
    for (const std::string& name : axes_of_categories(entries)) {
      const auto axis = std::ranges::find(free, name, &AxisValues::name);
      if (axis != free.end()) telling.push_back(*axis);
    }
    free = std::move(telling);
    std::size_t categories = 1;
    for (const AxisValues* axis : free) categories *= axis->values.size();
    const bool split = categories > most_categories && free.size() > 1;
    for (const AxisValues* axis : free) {
      if (!split || axis != free.front()) layout.line_axes.push_back(axis->name);
    }
    free.resize(split ? 1 : 0);
  }
  for (const AxisValues* axis : free) layout.facet_axes.push_back(axis->name);
  return layout;
}

/// Returns empty if the series has no position on the main axis; then only the tables show it.
std::optional<Mark> mark_of(const Entry& entry, const Layout& layout) {
  const Series& series = *entry.series;
  const auto centre = centre_of(series);
  if (!centre) return std::nullopt;
  Mark mark;
  mark.environment = entry.environment;
  mark.centre = *centre;
  mark.roof = series.roof;
  mark.axes = series.axes;
  mark.fault = entry.fault;
  const bool bare = layout.line_axes.size() == 1;
  mark.line = joined(series.axes, layout.line_axes, bare);
  if (layout.links) {
    mark.line = fmt::format("{} \u2192 {}", value_of(series.axes, layout.line_axes[0]),
                            value_of(series.axes, layout.line_axes[1]));
  }
  mark.label = mark.line;
  if (layout.x != nullptr) {
    mark.label = value_of(series.axes, layout.x->name);
    const auto x = axis_number(mark.label);
    if (!x) return std::nullopt;
    mark.x = *x;
  }
  return mark;
}

/// Adds the value of each of these axes to the panel's text, separately for axes of all marks and
/// of some marks: published figures may lack axes.
void name_constants(Panel& panel, const std::vector<std::string>& axes) {
  for (const std::string& name : axes) {
    std::string_view value;
    bool all = true;
    for (const Mark& mark : panel.marks) {
      const std::string_view own = value_of(mark.axes, name);
      all = all && !own.empty();
      if (!own.empty()) value = own;
    }
    if (value.empty()) continue;
    std::string& text = all ? panel.constants : panel.constants_of_some;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
}

/// Names categories by the axes that vary among them; constant axes are named once for the panel.
void name_categories(Panel& panel, const Layout& layout) {
  std::vector<std::string> varying, constant = layout.constants;
  for (const std::string& name : layout.line_axes) {
    const std::string_view first = value_of(panel.marks.front().axes, name);
    const bool varies = std::any_of(panel.marks.begin(), panel.marks.end(), [&](const Mark& mark) {
      return value_of(mark.axes, name) != first;
    });
    if (varies) {
      varying.push_back(name);
    } else if (!first.empty()) {
      constant.push_back(name);
    }
  }
  name_constants(panel, constant);
  if (varying.empty() || panel.lines_are_links) return;
  // A word is clear by itself, whereas a number needs its axis's name.
  const bool bare =
      varying.size() == 1 && !axis_number(value_of(panel.marks.front().axes, varying.front()));
  for (Mark& mark : panel.marks) {
    mark.line = joined(mark.axes, varying, bare);
    mark.label = mark.line;
  }
}

std::vector<Panel> panels_of_group(const std::vector<Entry>& entries, bool several_environments) {
  const std::vector<AxisValues> axes = axis_values(entries);
  const Layout layout = layout_of(axes, entries, several_environments);
  std::vector<Panel> panels;
  std::map<std::string, std::size_t> places;  // keyed by facet
  for (const Entry& entry : entries) {
    auto mark = mark_of(entry, layout);
    if (!mark) continue;
    const std::string facet = joined(entry.series->axes, layout.facet_axes, false);
    const auto [place, fresh] = places.emplace(facet, panels.size());
    if (fresh) {
      Panel panel;
      panel.benchmark = entry.series->benchmark;
      panel.metric = entry.series->key.metric;
      panel.unit = entry.series->unit;
      panel.better = entry.series->better;
      panel.facet = facet;
      panel.lines_are_links = layout.links;
      if (layout.x != nullptr) {
        panel.x_axis = layout.x->name;
        panel.x_is_size = panel.x_axis == "size" || panel.x_axis == "bytes";
      }
      panels.push_back(std::move(panel));
    }
    panels[place->second].marks.push_back(std::move(*mark));
  }
  for (Panel& panel : panels) {
    if (panel.x_axis.empty()) {
      name_categories(panel, layout);
    } else {
      name_constants(panel, layout.constants);
    }
    std::stable_sort(panel.marks.begin(), panel.marks.end(), [&](const Mark& a, const Mark& b) {
      if (a.environment != b.environment) return a.environment < b.environment;
      if (panel.x_axis.empty()) return comes_before(a.axes, b.axes);
      return std::tie(a.line, a.x) < std::tie(b.line, b.x);
    });
  }
  return panels;
}

/// Returns whether a run knows how precise this metric is: what a benchmark samples has an
/// interval, what it derives or counts besides has none.
bool is_sampled(const std::vector<Entry>& entries) {
  return std::ranges::any_of(entries, [](const Entry& entry) {
    return std::ranges::any_of(entry.series->points,
                               [](const Point& point) { return point.low < point.high; });
  });
}

}  // namespace

std::optional<std::pair<std::string, std::string>> link_axes(const Axes& axes) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> names = {
      {{"from", "to"}, {"src", "dst"}, {"source", "destination"}, {"row", "column"}}};
  for (const auto& [from, to] : names) {
    if (!value_of(axes, from).empty() && !value_of(axes, to).empty()) {
      return std::pair(std::string(from), std::string(to));
    }
  }
  return std::nullopt;
}

std::vector<Panel> panels_of(const std::vector<Environment>& environments) {
  using Group = std::tuple<std::string, std::string, std::string>;  // benchmark, metric, unit
  std::map<Group, std::vector<Entry>> groups;
  std::map<std::string, std::set<std::string>> metrics;
  for (std::size_t i = 0; i < environments.size(); ++i) {
    for (const Series& series : environments[i].results.series) {
      groups[{series.benchmark, series.key.metric, series.unit}].push_back(
          {i, &series, environments[i].results.fault_of(series.key.cell)});
      metrics[series.benchmark].insert(series.key.metric);
    }
  }
  std::vector<Panel> panels, derived;  // of the benchmark at hand
  const auto finish = [&] {
    std::ranges::move(derived, std::back_inserter(panels));
    derived.clear();
  };
  for (const auto& [group, entries] : groups) {
    const auto& [benchmark, metric, unit] = group;
    if (!derived.empty() && derived.front().benchmark != benchmark) finish();
    if (!is_shown(metric, metrics[benchmark])) continue;
    std::ranges::move(panels_of_group(entries, environments.size() > 1),
                      std::back_inserter(is_sampled(entries) ? panels : derived));
  }
  finish();
  return panels;
}

}  // namespace assay::report
