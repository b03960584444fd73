#include "judge/trace/recomputed_work.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

namespace assay {
namespace {

/// The trace's note on its cell names the setting, which is not "none".
bool recomputes(const Timeline& timeline) {
  const std::vector<std::string> notes = timeline.notes();
  return std::ranges::any_of(notes, [](const std::string& note) {
    return note.starts_with("the cell is ") && note.find(" recompute=") != note.npos &&
           note.find(" recompute=none") == note.npos;
  });
}

bool begins_in(const TimeRanges& ranges, const TraceEvent& event) {
  const auto next = std::ranges::upper_bound(ranges, event.start, {},
                                             [](const TimeRange& one) { return one.begin; });
  return next != ranges.begin() && event.start < std::prev(next)->end;
}

}  // namespace

std::int64_t recomputed_time(const TraceIndex& index, const std::string& device,
                             const std::vector<const TraceEvent*>& events) {
  const Timeline& timeline = index.timeline();
  if (!timeline.is_own || !recomputes(timeline)) return 0;
  std::vector<TimeRange> forward, backward;
  for (const TraceEvent& event : timeline.events()) {
    if (event.kind != TraceEventKind::gpu_annotation ||
        timeline.text(timeline.lane(event.lane).process) != device) {
      continue;
    }
    const std::string_view name = index.name_of(event);
    if (name.starts_with("forward ")) forward.push_back({event.start, event.end()});
    if (name.starts_with("backward ")) backward.push_back({event.start, event.end()});
  }
  const TimeRanges passes[] = {union_of(std::move(forward)), union_of(std::move(backward))};
  std::unordered_set<TextId> of_forward;
  for (const TraceEvent* event : events) {
    if (begins_in(passes[0], *event)) of_forward.insert(event->name);
  }
  std::int64_t time = 0;
  for (const TraceEvent* event : events) {
    const bool again = event->kind == TraceEventKind::kernel && of_forward.contains(event->name) &&
                       begins_in(passes[1], *event);
    if (again) time = add_saturated(time, event->duration);
  }
  return time;
}

}  // namespace assay
