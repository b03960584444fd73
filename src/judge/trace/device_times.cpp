#include "judge/trace/device_times.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace assay {
namespace {

/// Returns the number of the step in which the work was launched; empty if that is unknown.
std::optional<std::size_t> step_of(const TraceIndex& index, const TraceEvent& event) {
  const TraceEvent* const call = index.launch_of(event);
  const auto& steps = index.steps();
  if (call == nullptr || steps.empty()) return std::nullopt;
  // If only one process names steps, they are those of all.
  const bool only = steps.front().process == steps.back().process;
  const TextId caller = index.timeline().lane(call->lane).process;
  const std::pair key(only ? steps.front().process : caller, call->start);
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), key, [](const auto& at, const TraceStep& step) {
        return at < std::pair(step.process, step.host.begin);
      });
  if (after == steps.begin()) return std::nullopt;
  const TraceStep& step = *std::prev(after);
  if (step.process != key.first || call->start >= step.host.end) return std::nullopt;
  return static_cast<std::size_t>(after - steps.begin()) - 1;
}

/// Adds what the gaps of `busy` were caused by.
void explain_gaps(const TraceIndex& index, const std::vector<const TraceEvent*>& events,
                  const TimeRanges& busy, DeviceTimes& times) {
  auto next = events.begin();
  std::optional<std::size_t> last_step;
  for (std::size_t i = 0; i < busy.size(); ++i) {
    // The first event that begins with a range ends the gap before it.
    while ((*next)->start < busy[i].begin) {
      if (const auto step = step_of(index, **next)) last_step = step;
      ++next;
    }
    if (i == 0) continue;
    const std::int64_t gap = busy[i].begin - busy[i - 1].end;
    const auto step = step_of(index, **next);
    if (step && last_step && *step != *last_step) {
      if (index.timeline().is_own) {
        times.recorder_pauses += gap;
        times.span -= gap;
        times.idle -= gap;
        continue;
      }
      times.between_steps += gap;
    }
    ++times.gaps;
    times.longest_gap = std::max(times.longest_gap, gap);
    const TraceEvent* const call = index.launch_of(**next);
    if (call == nullptr) {
      times.unknown += gap;
    } else if (call->start > busy[i - 1].end) {
      ++times.host_late_gaps;
      times.host_late += gap;
    } else {
      times.launched_before += gap;
    }
  }
}

/// Returns whether the event is a copy that is not known to stay on GPUs.
bool may_cross_host_link(const TraceIndex& index, const TraceEvent& event) {
  if (work_kind_of(index, event) != WorkKind::copy || event.kind == TraceEventKind::fill) {
    return false;
  }
  const std::string_view name = index.name_of(event);
  for (const char* mark : {"DtoD", "PtoP", "DEVICE_TO_DEVICE", "Memset", "fillBuffer"}) {
    if (name.find(mark) != name.npos) return false;
  }
  return true;
}

void count_streams(const Timeline& timeline, const std::vector<const TraceEvent*>& events,
                   DeviceTimes& times) {
  struct Stream {
    std::int64_t last_end, latest_end;
    std::size_t inside = 0;  // events that began before latest_end
  };
  constexpr std::size_t too_many_inside = 3;
  std::unordered_map<LaneId, Stream> streams;
  for (const TraceEvent* event : events) {
    const auto [at, is_first] = streams.emplace(event->lane, Stream{event->end(), event->end()});
    // Copies of several streams may overlap in a lane of all of them.
    const std::string_view lane = timeline.text(timeline.lane(event->lane).thread);
    if (is_first || lane.substr(0, lane.find(" of ")) == copies_of_all_streams) continue;
    Stream& stream = at->second;
    if (event->start < stream.last_end) ++times.same_stream_overlaps;
    if (event->start < stream.latest_end && ++stream.inside == too_many_inside) ++times.implausible;
    if (event->end() >= stream.latest_end) stream.inside = 0;
    stream.latest_end = std::max(stream.latest_end, event->end());
    stream.last_end = event->end();
  }
  times.streams = streams.size();
}

}  // namespace

DeviceTimes device_times(const TraceIndex& index, const std::vector<const TraceEvent*>& events) {
  DeviceTimes times;
  if (events.empty()) return times;
  std::map<WorkKind, std::vector<TimeRange>> work;
  std::vector<TimeRange> all, host_copies;
  std::int64_t last = events.front()->end();
  for (const TraceEvent* event : events) {
    const TimeRange range = {event->start, event->end()};
    all.push_back(range);
    work[work_kind_of(index, *event)].push_back(range);
    if (may_cross_host_link(index, *event)) host_copies.push_back(range);
    last = std::max(last, range.end);
    const bool copies = event->kind == TraceEventKind::copy || event->kind == TraceEventKind::fill;
    ++(copies ? times.copies : times.kernels);
    if (!copies) times.kernel_sum = add_saturated(times.kernel_sum, event->duration);
    if (index.is_from_graph(*event)) ++times.from_graphs;
  }
  const TimeRanges busy = union_of(std::move(all));
  const TimeRanges compute = union_of(std::move(work[WorkKind::compute]));
  const TimeRanges collective = union_of(std::move(work[WorkKind::collective]));
  const TimeRanges copy = union_of(std::move(work[WorkKind::copy]));
  times.span = last - events.front()->start;
  times.busy = size_of(busy);
  times.idle = times.span - times.busy;
  times.compute = size_of(compute);
  times.collective = size_of(collective);
  times.copy = size_of(copy);
  times.exposed_collective = size_of(minus(collective, compute));
  times.exposed_copy = size_of(minus(minus(copy, compute), collective));
  const TimeRanges host_copy = union_of(std::move(host_copies));
  times.exposed_host_copy = size_of(minus(minus(host_copy, compute), collective));
  explain_gaps(index, events, busy, times);
  count_streams(index.timeline(), events, times);
  return times;
}

std::vector<DeviceStep> device_steps(const TraceIndex& index,
                                     const std::vector<const TraceEvent*>& events) {
  std::map<std::size_t, std::vector<const TraceEvent*>> work;
  for (const TraceEvent* event : events) {
    if (const auto step = step_of(index, *event)) work[*step].push_back(event);
  }
  std::vector<DeviceStep> steps;
  for (auto at = work.begin(); at != work.end(); ++at) {
    const auto next = std::next(at);
    std::int64_t end = at->second.front()->end();
    for (const TraceEvent* event : at->second) end = std::max(end, event->end());
    DeviceStep step;
    step.name = index.steps()[at->first].name;
    step.window.begin = at->second.front()->start;
    const bool ends_alone = next == work.end() || index.timeline().is_own;
    step.window.end = ends_alone ? end : next->second.front()->start;
    step.times = device_times(index, at->second);
    // Work that reaches into the next step's window is rare; the window keeps at least its span.
    step.window.end = std::max(step.window.end, step.window.begin + step.times.span);
    step.times.idle += step.window.size() - step.times.span;
    step.times.span = step.window.size();
    steps.push_back(std::move(step));
  }
  return steps;
}

std::vector<TimePart> parts_of(const DeviceTimes& times) {
  return {{"computing", times.compute},
          {"collectives, nothing computed", times.exposed_collective},
          {"copies, nothing else", times.exposed_copy},
          {"idle: the host came late", times.host_late},
          {"idle: launched before", times.launched_before},
          {"idle: cause unknown", times.unknown},
          {"idle: until the next step",
           times.idle - times.host_late - times.launched_before - times.unknown}};
}

bool is_launch_bound(const DeviceTimes& times) {
  return times.span > 0 && times.host_late > times.span / 10;
}

}  // namespace assay
