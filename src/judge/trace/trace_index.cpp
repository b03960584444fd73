#include "judge/trace/trace_index.h"

#include <algorithm>
#include <set>

#include "judge/trace/kernel_category.h"

namespace assay {

namespace {

/// Returns whether the name is that of a step: "ProfilerStep#5", vLLM's "execute_32_...".
bool is_step_name(std::string_view name) {
  return name.starts_with("ProfilerStep#") || name.starts_with("execute_");
}

/// Sorts steps and leaves out those that are parts of others: the profiler's own have the program's
/// inside them.
std::vector<TraceStep> separate_steps(std::vector<TraceStep> steps) {
  const auto is_program = [](const TraceStep& step) { return !step.name.starts_with("Profiler"); };
  if (!std::all_of(steps.begin(), steps.end(), is_program)) std::erase_if(steps, is_program);
  std::stable_sort(steps.begin(), steps.end(), [](const TraceStep& a, const TraceStep& b) {
    if (a.process != b.process) return a.process < b.process;
    return a.host.begin != b.host.begin ? a.host.begin < b.host.begin : a.host.end > b.host.end;
  });
  std::vector<TraceStep> separate;
  for (TraceStep& step : steps) {
    const bool inside = !separate.empty() && step.process == separate.back().process &&
                        step.host.end <= separate.back().host.end;
    if (!inside) separate.push_back(std::move(step));
  }
  return separate;
}

}  // namespace

TraceIndex::TraceIndex(const Timeline& timeline) : timeline_(timeline) {
  bool host_seen = false;
  for (const TraceEvent& event : timeline.events()) {
    if (is_gpu_work(event.kind)) {
      devices_[std::string(timeline.text(timeline.lane(event.lane).process))].push_back(&event);
      if (categories_.count(event.name) == 0) {
        categories_.emplace(event.name, kernel_category(timeline.text(event.name)));
      }
      continue;
    }
    if (event.kind == TraceEventKind::gpu_annotation) continue;
    host_.begin = host_seen ? std::min(host_.begin, event.start) : event.start;
    host_.end = host_seen ? std::max(host_.end, event.end()) : event.end();
    host_seen = true;
    // The first call of a correlation is the one that launched.
    if (event.kind == TraceEventKind::call && event.correlation != no_number) {
      calls_.emplace(event.correlation, &event);
    }
    if (event.kind == TraceEventKind::operation && event.external != no_number) {
      operations_.emplace(event.external, &event);
    }
    const std::string_view name = timeline.text(event.name);
    if (event.kind == TraceEventKind::annotation && is_step_name(name)) {
      steps_.push_back(
          {std::string(name), {event.start, event.end()}, timeline.lane(event.lane).process});
    }
  }
  for (auto& [device, events] : devices_) {
    std::stable_sort(events.begin(), events.end(), [](const TraceEvent* a, const TraceEvent* b) {
      return a->start != b->start ? a->start < b->start : a->end() < b->end();
    });
  }
  steps_ = separate_steps(std::move(steps_));
}

const TraceEvent* TraceIndex::launch_of(const TraceEvent& event) const {
  const auto at = calls_.find(event.correlation);
  return at == calls_.end() ? nullptr : at->second;
}

const TraceEvent* TraceIndex::operation_of(const TraceEvent& event) const {
  const auto at = operations_.find(event.external);
  return at == operations_.end() ? nullptr : at->second;
}

bool TraceIndex::is_from_graph(const TraceEvent& event) const {
  const TraceEvent* const call = launch_of(event);
  return call != nullptr && name_of(*call).find("GraphLaunch") != std::string_view::npos;
}

WorkKind work_kind_of(const TraceIndex& index, const TraceEvent& event) {
  if (event.kind == TraceEventKind::copy || event.kind == TraceEventKind::fill)
    return WorkKind::copy;
  const std::string_view category = index.category_of(event);
  // ROCm before 7.2 records copies as kernels.
  if (category == "copy") return WorkKind::copy;
  return category == "collective" ? WorkKind::collective : WorkKind::compute;
}

}  // namespace assay
