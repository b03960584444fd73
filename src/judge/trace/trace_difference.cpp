#include "judge/trace/trace_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "judge/trace/device_times.h"
#include "judge/trace/kernel_category.h"
#include "statistics/summary.h"

namespace assay {
namespace {

/// A stretch of time that belongs to one event.
struct OwnTime {
  TimeRange range;
  const TraceEvent* event;
};

/// Gives every moment of these events, sorted by start, to the event that began first.
std::vector<OwnTime> own_times(const std::vector<const TraceEvent*>& events, TimeRange window) {
  std::vector<OwnTime> own;
  std::int64_t covered = window.begin;
  for (const TraceEvent* event : events) {
    const TimeRange range = {std::max(event->start, covered), std::min(event->end(), window.end)};
    if (range.size() <= 0) continue;
    own.push_back({range, event});
    covered = range.end;
  }
  return own;
}

/// Adds the times of `own` that `taken` does not have, and then takes them. Both are sorted.
template <typename Add>
void add_free(const std::vector<OwnTime>& own, TimeRanges& taken, const Add& add) {
  std::vector<TimeRange> all = taken;
  std::size_t next = 0;
  for (const OwnTime& one : own) {
    while (next < taken.size() && taken[next].end <= one.range.begin) ++next;
    std::int64_t free = one.range.size();
    for (std::size_t i = next; i < taken.size() && taken[i].begin < one.range.end; ++i) {
      free -= std::min(taken[i].end, one.range.end) - std::max(taken[i].begin, one.range.begin);
    }
    if (free > 0) add(*one.event, free);
    all.push_back(one.range);
  }
  taken = union_of(std::move(all));
}

/// Adds the parts of one step, or of a whole trace, on one GPU.
void add_window(const TraceIndex& index, const std::vector<const TraceEvent*>& events,
                TimeRange window, StepParts& parts) {
  std::map<WorkKind, std::vector<const TraceEvent*>> kinds;
  for (const TraceEvent* event : events) {
    if (event->start < window.end && event->end() > window.begin) {
      kinds[work_kind_of(index, *event)].push_back(event);
    }
    if (event->start < window.begin || event->start >= window.end) continue;
    if (event->kind != TraceEventKind::copy && event->kind != TraceEventKind::fill) {
      parts.counts[std::string(plain_kernel_name(index.name_of(*event)))] += 1;
    }
  }
  TimeRanges taken;
  // What computes counts before what communicates, and that before copies: the rest is exposed.
  for (const WorkKind kind : {WorkKind::compute, WorkKind::collective, WorkKind::copy}) {
    add_free(
        own_times(kinds[kind], window), taken, [&](const TraceEvent& event, std::int64_t time) {
          const auto ns = static_cast<double>(time);
          const std::string category(kind == WorkKind::copy ? "copy" : index.category_of(event));
          parts.categories[category] += ns;
          if (kind == WorkKind::copy) return;
          const std::string name(plain_kernel_name(index.name_of(event)));
          parts.kernels[name] += ns;
          parts.category_of[name] = category;
        });
  }
  parts.categories["idle"] += static_cast<double>(window.size() - size_of(taken));
  parts.step += static_cast<double>(window.size());
}

void divide(StepParts& parts, double by) {
  parts.step /= by;
  for (auto* times : {&parts.categories, &parts.kernels, &parts.counts}) {
    for (auto& [name, value] : *times) value /= by;
  }
}

double value_of(const std::map<std::string, double>& times, const std::string& name) {
  const auto at = times.find(name);
  return at == times.end() ? 0 : at->second;
}

template <typename Value>
double median_over(const std::vector<StepParts>& side, const Value& value) {
  std::vector<double> values;
  for (const StepParts& trace : side) values.push_back(value(trace));
  return median(std::move(values));
}

/// Returns all names of a side's traces.
std::set<std::string> names_of(const std::vector<StepParts>& side,
                               std::map<std::string, double> StepParts::*times) {
  std::set<std::string> names;
  for (const StepParts& trace : side) {
    for (const auto& [name, value] : trace.*times) names.insert(name);
  }
  return names;
}

std::string category_in(const std::vector<StepParts>& side, const std::string& name) {
  for (const StepParts& trace : side) {
    const auto at = trace.category_of.find(name);
    if (at != trace.category_of.end()) return at->second;
  }
  return {};
}

PartDifference side_of_kernel(const std::vector<StepParts>& a, const std::vector<StepParts>& b,
                              const std::string& name_a, const std::string& name_b) {
  PartDifference part;
  part.name = name_a.empty() ? name_b : name_a;
  if (!name_a.empty() && name_b != name_a) part.other_name = name_b;
  part.category = name_a.empty() ? category_in(b, name_b) : category_in(a, name_a);
  const auto times = [](const std::string& name) {
    return [&name](const StepParts& trace) { return value_of(trace.kernels, name); };
  };
  const auto counts = [](const std::string& name) {
    return [&name](const StepParts& trace) { return value_of(trace.counts, name); };
  };
  if (!name_a.empty()) {
    part.a = median_over(a, times(name_a));
    part.count_a = median_over(a, counts(name_a));
  }
  if (!name_b.empty()) {
    part.b = median_over(b, times(name_b));
    part.count_b = median_over(b, counts(name_b));
  }
  return part;
}

/// Matches kernels by name, then those of one category that are launched equally often, the
/// longest ones first: the same operation has another name in another library.
std::vector<PartDifference> matched_kernels(const std::vector<StepParts>& a,
                                            const std::vector<StepParts>& b) {
  const auto names_a = names_of(a, &StepParts::kernels), names_b = names_of(b, &StepParts::kernels);
  std::vector<PartDifference> parts, only_a, only_b;
  for (const std::string& name : names_a) {
    const bool both = names_b.count(name) > 0;
    (both ? parts : only_a).push_back(side_of_kernel(a, b, name, both ? name : ""));
  }
  for (const std::string& name : names_b) {
    if (names_a.count(name) == 0) only_b.push_back(side_of_kernel(a, b, "", name));
  }
  std::stable_sort(only_a.begin(), only_a.end(),
                   [](const PartDifference& x, const PartDifference& y) { return x.a > y.a; });
  std::stable_sort(only_b.begin(), only_b.end(),
                   [](const PartDifference& x, const PartDifference& y) { return x.b > y.b; });
  for (const PartDifference& part : only_a) {
    const auto same = std::find_if(only_b.begin(), only_b.end(), [&](const PartDifference& other) {
      return other.category == part.category && other.category != "other" &&
             std::abs(other.count_b - part.count_a) < 0.01;
    });
    if (same == only_b.end()) {
      parts.push_back(part);
      continue;
    }
    parts.push_back(side_of_kernel(a, b, part.name, same->name));
    only_b.erase(same);
  }
  parts.insert(parts.end(), only_b.begin(), only_b.end());
  return parts;
}

}  // namespace

StepParts step_parts(const std::vector<const TraceIndex*>& ranks) {
  StepParts parts;
  std::size_t windows = 0;
  for (const TraceIndex* index : ranks) {
    for (const auto& [device, events] : index->devices()) {
      const std::vector<DeviceStep> steps = device_steps(*index, events);
      if (steps.empty()) {
        std::int64_t end = events.front()->end();
        for (const TraceEvent* event : events) end = std::max(end, event->end());
        add_window(*index, events, {events.front()->start, end}, parts);
        ++windows;
        continue;
      }
      for (const DeviceStep& step : steps) add_window(*index, events, step.window, parts);
      windows += steps.size();
      parts.steps += steps.size();
    }
  }
  if (windows > 0) divide(parts, static_cast<double>(windows));
  return parts;
}

TraceDifference compare_traces(const std::vector<StepParts>& a, const std::vector<StepParts>& b,
                               const VerdictRule& rule) {
  TraceDifference difference;
  difference.traces_a = a.size();
  difference.traces_b = b.size();
  const auto step = [](const StepParts& trace) { return trace.step; };
  difference.step.name = "step";
  difference.step.a = median_over(a, step);
  difference.step.b = median_over(b, step);
  const double whole = difference.step.a;
  if (whole > 0) difference.ratio = difference.step.b / whole;
  std::set<std::string> categories = names_of(a, &StepParts::categories);
  categories.merge(names_of(b, &StepParts::categories));
  for (const std::string& category : categories) {
    const auto time = [&](const StepParts& trace) { return value_of(trace.categories, category); };
    PartDifference part;
    part.name = part.category = category;
    part.a = median_over(a, time);
    part.b = median_over(b, time);
    difference.categories.push_back(part);
  }
  difference.kernels = matched_kernels(a, b);
  if (std::min(a.size(), b.size()) >= least_units) {
    // Parts that a trace does not have cannot be compared as ratios.
    std::vector<UnpairedMember> members;
    std::vector<PartDifference*> judged;
    const auto add = [&](PartDifference& part, const auto& value) {
      UnpairedMember member;
      for (const StepParts& trace : a) member.a.push_back(std::log(value(trace)));
      for (const StepParts& trace : b) member.b.push_back(std::log(value(trace)));
      const auto finite = [](double log) { return std::isfinite(log); };
      if (!std::all_of(member.a.begin(), member.a.end(), finite) ||
          !std::all_of(member.b.begin(), member.b.end(), finite)) {
        return;
      }
      members.push_back(std::move(member));
      judged.push_back(&part);
    };
    add(difference.step, step);
    for (PartDifference& part : difference.categories) {
      add(part, [&](const StepParts& trace) { return value_of(trace.categories, part.name); });
    }
    const JudgedFamily family = judge_family(members, rule);
    for (std::size_t i = 0; i < judged.size(); ++i) judged[i]->judged = family.members[i];
  } else {
    difference.notes.push_back(
        fmt::format("{} against {} traces: these are medians without a verdict, because one trace "
                    "is one run; give {} traces a side for verdicts",
                    a.size(), b.size(), least_units));
  }
  const auto has_steps = [](const StepParts& trace) { return trace.steps > 0; };
  if (!std::all_of(a.begin(), a.end(), has_steps) || !std::all_of(b.begin(), b.end(), has_steps)) {
    difference.notes.push_back(
        "some of the traces name no steps, so each of these counts as one step as a whole");
  }
  for (auto* parts : {&difference.categories, &difference.kernels}) {
    for (PartDifference& part : *parts) {
      if (whole > 0) part.share = (part.b - part.a) / whole;
    }
    std::stable_sort(parts->begin(), parts->end(),
                     [](const PartDifference& x, const PartDifference& y) {
                       return std::abs(x.b - x.a) > std::abs(y.b - y.a);
                     });
  }
  return difference;
}

}  // namespace assay
