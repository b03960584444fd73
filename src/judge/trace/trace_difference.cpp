#include "judge/trace/trace_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <utility>

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
std::vector<OwnTime> own_times(const std::vector<const TraceEvent*>& events) {
  std::vector<OwnTime> own;
  std::int64_t covered = INT64_MIN;
  for (const TraceEvent* event : events) {
    const TimeRange range = {std::max(event->start, covered), event->end()};
    if (range.begin >= range.end) continue;
    own.push_back({range, event});
    covered = range.end;
  }
  return own;
}

/// Adds to `free` what of `own` is not `taken`, and then takes it. All are sorted.
void take(const std::vector<OwnTime>& own, TimeRanges& taken, std::vector<OwnTime>& free) {
  std::vector<TimeRange> all = taken;
  std::size_t next = 0;
  for (const OwnTime& one : own) {
    while (next < taken.size() && taken[next].end <= one.range.begin) ++next;
    std::int64_t begin = one.range.begin;
    for (std::size_t i = next; i < taken.size() && taken[i].begin < one.range.end; ++i) {
      if (begin < taken[i].begin) free.push_back({{begin, taken[i].begin}, one.event});
      begin = taken[i].end;
    }
    if (begin < one.range.end) free.push_back({{begin, one.range.end}, one.event});
    all.push_back(one.range);
  }
  taken = union_of(std::move(all));
}

/// Gives every busy moment of a GPU to one event. The times are sorted and do not overlap.
std::vector<OwnTime> shared_out(const TraceIndex& index,
                                const std::vector<const TraceEvent*>& events) {
  std::map<WorkKind, std::vector<const TraceEvent*>> kinds;
  for (const TraceEvent* event : events) kinds[work_kind_of(index, *event)].push_back(event);
  TimeRanges taken;
  std::vector<OwnTime> all;
  // What computes counts before what communicates, and that before copies: the rest is exposed.
  for (const WorkKind kind : {WorkKind::compute, WorkKind::collective, WorkKind::copy}) {
    take(own_times(kinds[kind]), taken, all);
  }
  std::sort(all.begin(), all.end(),
            [](const OwnTime& x, const OwnTime& y) { return x.range.begin < y.range.begin; });
  return all;
}

/// Adds the parts of one step, or of a whole trace, on one GPU.
void add_window(const TraceIndex& index, const std::vector<const TraceEvent*>& events,
                const std::vector<OwnTime>& own, TimeRange window, StepParts& parts) {
  const auto starts_before = [](const TraceEvent* event, std::int64_t time) {
    return event->start < time;
  };
  auto event = std::lower_bound(events.begin(), events.end(), window.begin, starts_before);
  for (; event != events.end() && (*event)->start < window.end; ++event) {
    if ((*event)->kind == TraceEventKind::copy || (*event)->kind == TraceEventKind::fill) continue;
    const std::string name(plain_kernel_name(index.name_of(**event)));
    parts.counts[name] += 1;
    if (work_kind_of(index, **event) == WorkKind::copy) continue;
    // Beneath other kernels it has no time of its own, but both sides may have it.
    parts.kernels.try_emplace(name, 0);
    parts.category_of.try_emplace(name, index.category_of(**event));
  }
  const auto ends_after = [](std::int64_t time, const OwnTime& one) {
    return time < one.range.end;
  };
  std::int64_t busy = 0;
  auto one = std::upper_bound(own.begin(), own.end(), window.begin, ends_after);
  for (; one != own.end() && one->range.begin < window.end; ++one) {
    const std::int64_t time =
        std::min(one->range.end, window.end) - std::max(one->range.begin, window.begin);
    const auto ns = static_cast<double>(time);
    busy += time;
    const bool copies = work_kind_of(index, *one->event) == WorkKind::copy;
    const std::string category(copies ? "copy" : index.category_of(*one->event));
    parts.categories[category] += ns;
    if (copies) continue;
    const std::string name(plain_kernel_name(index.name_of(*one->event)));
    parts.kernels[name] += ns;
    parts.category_of[name] = category;
  }
  parts.categories["idle"] += static_cast<double>(window.size() - busy);
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
  const auto key_of = [](const std::string& category, double count) {
    constexpr double digits = 100;
    return std::pair(category, std::llround(count * digits));
  };
  std::map<std::pair<std::string, long long>, std::deque<PartDifference>> waiting;
  for (const PartDifference& part : only_b) {
    waiting[key_of(part.category, part.count_b)].push_back(part);
  }
  for (const PartDifference& part : only_a) {
    const auto same = waiting.find(key_of(part.category, part.count_a));
    if (part.category == "other" || same == waiting.end() || same->second.empty()) {
      parts.push_back(part);
      continue;
    }
    parts.push_back(side_of_kernel(a, b, part.name, same->second.front().name));
    same->second.pop_front();
  }
  for (const auto& [key, rest] : waiting) parts.insert(parts.end(), rest.begin(), rest.end());
  return parts;
}

}  // namespace

StepParts step_parts(const std::vector<const TraceIndex*>& ranks) {
  struct Gpu {
    const TraceIndex* index;
    const std::vector<const TraceEvent*>* events;
    std::vector<TimeRange> windows;
  };
  std::vector<Gpu> gpus;
  StepParts parts;
  for (const TraceIndex* index : ranks) {
    for (const auto& [device, events] : index->devices()) {
      Gpu& gpu = gpus.emplace_back(Gpu{index, &events, {}});
      for (const DeviceStep& step : device_steps(*index, events)) {
        gpu.windows.push_back(step.window);
      }
      parts.steps += gpu.windows.size();
    }
  }
  std::size_t windows = 0;
  for (Gpu& gpu : gpus) {
    // A whole trace is no step, so it does not count beside steps.
    if (parts.steps == 0) {
      std::int64_t end = gpu.events->front()->end();
      for (const TraceEvent* event : *gpu.events) end = std::max(end, event->end());
      gpu.windows.push_back({gpu.events->front()->start, end});
    }
    if (gpu.windows.empty()) continue;
    const std::vector<OwnTime> own = shared_out(*gpu.index, *gpu.events);
    for (const TimeRange& window : gpu.windows) {
      add_window(*gpu.index, *gpu.events, own, window, parts);
    }
    windows += gpu.windows.size();
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
