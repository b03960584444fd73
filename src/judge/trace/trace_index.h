// Orders the events of a timeline for judging: the work of each GPU by time, the call that launched
// it, the category of each kernel, the steps.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "results/timeline/timeline.h"
#include "statistics/time_ranges.h"

namespace assay {

/// A step that the program named: "ProfilerStep#5".
struct TraceStep {
  std::string name;
  TimeRange host;      ///< when the host was in it
  TextId process = 0;  ///< the host's
};

class TraceIndex {
 public:
  /// `timeline` must outlive this object.
  explicit TraceIndex(const Timeline& timeline);

  const Timeline& timeline() const { return timeline_; }
  /// The work of each GPU by start, then end, then order in the file.
  const std::map<std::string, std::vector<const TraceEvent*>>& devices() const { return devices_; }
  /// Sorted by process, then by start. Steps inside others are left out, and the program's own if
  /// the profiler names steps, too.
  const std::vector<TraceStep>& steps() const { return steps_; }
  /// Returns the call that launched the work; null if the trace has none, because it lies before
  /// the window or the file has no calls.
  const TraceEvent* launch_of(const TraceEvent& event) const;
  /// Returns the innermost operation that the kernel belongs to; null if there is none.
  const TraceEvent* operation_of(const TraceEvent& event) const;
  /// Returns whether a graph launch caused the work, which says little about when the host could
  /// have launched it.
  bool is_from_graph(const TraceEvent& event) const;
  /// `event` is work of a GPU.
  std::string_view category_of(const TraceEvent& event) const { return categories_.at(event.name); }
  std::string_view name_of(const TraceEvent& event) const { return timeline_.text(event.name); }

  bool has_calls() const { return !calls_.empty(); }
  /// The time that all events of the host cover, from the first start to the last end; empty if
  /// there are none.
  TimeRange host() const { return host_; }

 private:
  const Timeline& timeline_;
  std::map<std::string, std::vector<const TraceEvent*>> devices_;
  std::unordered_map<std::uint64_t, const TraceEvent*> calls_, operations_;
  std::unordered_map<TextId, std::string_view> categories_;
  std::vector<TraceStep> steps_;
  TimeRange host_;
};

/// What the time of a GPU is spent on.
enum class WorkKind { compute, collective, copy };
WorkKind work_kind_of(const TraceIndex& index, const TraceEvent& event);

}  // namespace assay
