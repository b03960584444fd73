#include "judge/trace/kernel_groups.h"

#include <algorithm>
#include <map>

namespace assay {
namespace {

struct Durations {
  std::vector<std::int64_t> all;
  std::int64_t total = 0;
  void add(std::int64_t duration) {
    all.push_back(duration);
    total = add_saturated(total, duration);
  }
};

template <typename KeyOf>
std::vector<KernelGroup> grouped(const TraceIndex& index,
                                 const std::vector<const TraceEvent*>& events,
                                 const KeyOf& key_of) {
  std::map<std::string_view, std::pair<const TraceEvent*, Durations>> groups;
  for (const TraceEvent* event : events) {
    if (event->kind != TraceEventKind::kernel && event->kind != TraceEventKind::graph) continue;
    auto& [first, durations] = groups[key_of(*event)];
    if (first == nullptr) first = event;
    durations.add(event->duration);
  }
  std::vector<KernelGroup> sorted;
  for (auto& [name, group] : groups) {
    KernelGroup& one = sorted.emplace_back();
    one.name = name;
    one.category = index.category_of(*group.first);
    one.count = group.second.all.size();
    one.total = group.second.total;
    for (const std::int64_t duration : group.second.all) {
      if (duration >= short_kernel) continue;
      ++one.short_count;
      one.short_total += duration;
    }
    one.median = lower_median(std::move(group.second.all));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const KernelGroup& a, const KernelGroup& b) { return a.total > b.total; });
  return sorted;
}

}  // namespace

std::int64_t lower_median(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<KernelGroup> kernels_by_name(const TraceIndex& index,
                                         const std::vector<const TraceEvent*>& events) {
  return grouped(index, events, [&](const TraceEvent& event) { return index.name_of(event); });
}

std::vector<KernelGroup> kernels_by_category(const TraceIndex& index,
                                             const std::vector<const TraceEvent*>& events) {
  return grouped(index, events, [&](const TraceEvent& event) { return index.category_of(event); });
}

std::vector<GemmGroup> gemms_by_problem(const TraceIndex& index,
                                        const std::vector<const TraceEvent*>& events,
                                        unsigned units) {
  struct Found {
    Durations durations;
    const TraceEvent* longest = nullptr;
  };
  std::map<GemmProblem2D, Found> problems;
  const Timeline& timeline = index.timeline();
  for (const TraceEvent* event : events) {
    if (event->kind != TraceEventKind::kernel || index.category_of(*event) != "gemm") continue;
    const TraceEvent* const operation = index.operation_of(*event);
    if (operation == nullptr) continue;
    const EventDetail& detail = timeline.detail(operation->detail);
    const auto problem = gemm_problem(index.name_of(*operation), timeline.text(detail.shapes),
                                      timeline.text(detail.types));
    if (!problem) continue;
    Found& found = problems[*problem];
    found.durations.add(event->duration);
    if (found.longest == nullptr || event->duration > found.longest->duration) {
      found.longest = event;
    }
  }
  std::vector<GemmGroup> groups;
  for (auto& [problem, found] : problems) {
    GemmGroup group;
    group.problem = problem;
    group.kernel = index.name_of(*found.longest);
    if (const auto kernel = parse_gemm_kernel(group.kernel)) {
      group.layout = kernel->transposes;  // axes name it as BLAS libraries do
      group.efficiency = tile_efficiency(*kernel, problem, units);
    }
    group.count = found.durations.all.size();
    group.total = found.durations.total;
    group.median = lower_median(std::move(found.durations.all));
    if (group.median > 0) group.rate = problem.flops() / (static_cast<double>(group.median) / 1e9);
    groups.push_back(std::move(group));
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const GemmGroup& a, const GemmGroup& b) { return a.total > b.total; });
  return groups;
}

}  // namespace assay
