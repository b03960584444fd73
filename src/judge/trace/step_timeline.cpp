#include "judge/trace/step_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "judge/trace/kernel_category.h"

namespace assay {
namespace {

constexpr std::size_t most_gpus = 8, most_lanes = 6, most_threads = 3, most_nested = 6;

/// An event inside the step's time.
struct InStep {
  TimeRange range;  ///< since the step began
  const TraceEvent* event;
};

struct RowOfEvents {
  std::string group, lane;
  std::size_t row;
  const TraceIndex* index;
  std::vector<InStep> events;
};

/// The part of a trace that is drawn: from `begin` on its own clock, for the step's length.
struct TraceWindow {
  const TraceIndex* index;
  std::int64_t begin, length;
};

bool all_have_epochs(const std::vector<StepOfTrace>& steps) {
  return std::all_of(steps.begin(), steps.end(),
                     [](const StepOfTrace& step) { return step.index->timeline().epoch != 0; });
}

std::int64_t since_1970(const StepOfTrace& step, std::int64_t time) {
  return std::clamp(add_saturated(step.index->timeline().epoch, time), -longest_time, longest_time);
}

/// Returns the time since 1970 that all windows share; empty if they share none.
std::optional<TimeRange> shared_time(const std::vector<StepOfTrace>& steps) {
  TimeRange shared = {-longest_time, longest_time};
  for (const StepOfTrace& step : steps) {
    shared.begin = std::max(shared.begin, since_1970(step, step.window.begin));
    shared.end = std::min(shared.end, since_1970(step, step.window.end));
  }
  if (shared.begin >= shared.end) return std::nullopt;
  return shared;
}

/// Returns the part of each trace to draw, and sets the step's length. Traces whose steps do not
/// overlap by their clocks all begin at 0.
std::map<std::size_t, TraceWindow> windows_of(const std::vector<StepOfTrace>& steps,
                                              StepTimeline& timeline) {
  std::map<std::size_t, TraceWindow> windows;
  for (const StepOfTrace& step : steps) {
    const auto [at, is_new] =
        windows.emplace(step.trace, TraceWindow{step.index, step.window.begin, 0});
    at->second.begin = std::min(at->second.begin, step.window.begin);
  }
  timeline.one_clock = windows.size() < 2 || (all_have_epochs(steps) && shared_time(steps));
  if (windows.size() > 1 && timeline.one_clock) {
    std::int64_t first = longest_time;
    for (const StepOfTrace& step : steps)
      first = std::min(first, since_1970(step, step.window.begin));
    for (auto& [trace, window] : windows) window.begin = first - window.index->timeline().epoch;
  }
  for (const StepOfTrace& step : steps) {
    timeline.length = std::max(timeline.length, step.window.end - windows.at(step.trace).begin);
  }
  for (auto& [trace, window] : windows) window.length = timeline.length;
  return windows;
}

std::optional<InStep> in_step(const TraceWindow& window, const TraceEvent& event) {
  const std::int64_t begin = std::max<std::int64_t>(event.start - window.begin, 0);
  const std::int64_t end = std::min(event.end() - window.begin, window.length);
  if (begin > end || begin >= window.length || event.end() <= window.begin) return std::nullopt;
  return InStep{{begin, end}, &event};
}

/// Gives each event the first row that is free when it begins; nested events lie below those around
/// them. Returns how many found no row.
std::size_t add_rows(const std::string& group, const std::string& lane, const TraceIndex* index,
                     std::vector<InStep> events, std::vector<RowOfEvents>& rows) {
  std::stable_sort(events.begin(), events.end(), [](const InStep& a, const InStep& b) {
    if (a.range.begin != b.range.begin) return a.range.begin < b.range.begin;
    return a.range.end > b.range.end;
  });
  const std::size_t first = rows.size();
  std::size_t without = 0;
  for (const InStep& one : events) {
    std::size_t row = first;
    while (row < rows.size() && rows[row].events.back().range.end > one.range.begin) ++row;
    if (row == first + most_nested) {
      ++without;
      continue;
    }
    if (row == rows.size()) rows.push_back({group, lane, row - first, index, {}});
    rows[row].events.push_back(one);
  }
  return without;
}

using LanesOfEvents = std::map<std::string, std::vector<InStep>>;

std::int64_t time_in(const std::vector<InStep>& events) {
  std::int64_t time = 0;
  for (const InStep& one : events) time = add_saturated(time, one.range.size());
  return time;
}

/// Adds the rows of the busiest lanes, shortest name first so that 10 comes after 9. Returns how
/// many events found no place.
std::size_t add_lanes(const std::string& group, const TraceIndex* index, LanesOfEvents lanes,
                      std::size_t most, std::vector<RowOfEvents>& rows) {
  std::vector<std::tuple<std::int64_t, std::size_t, std::string>> order;
  for (const auto& [name, events] : lanes) order.emplace_back(-time_in(events), name.size(), name);
  std::sort(order.begin(), order.end());
  std::size_t without = 0;
  for (std::size_t i = most; i < order.size(); ++i) {
    without += lanes.at(std::get<std::string>(order[i])).size();
  }
  order.resize(std::min(most, order.size()));
  for (auto& lane : order) std::get<0>(lane) = 0;
  std::sort(order.begin(), order.end());
  for (const auto& [none, size, name] : order) {
    without += add_rows(group, name, index, std::move(lanes.at(name)), rows);
  }
  return without;
}

void add_host(const std::string& group, const TraceWindow& window, StepTimeline& timeline,
              std::vector<RowOfEvents>& rows) {
  const Timeline& trace = window.index->timeline();
  LanesOfEvents threads;
  for (const TraceEvent& event : trace.events()) {
    if (is_gpu_work(event.kind) || event.kind == TraceEventKind::gpu_annotation) continue;
    if (const auto one = in_step(window, event)) {
      const std::string_view name = trace.text(trace.lane(event.lane).thread);
      threads[fmt::format("thread {}", name)].push_back(*one);
    }
  }
  timeline.left_out += add_lanes(group, window.index, std::move(threads), most_threads, rows);
}

void add_gpu(const std::string& group, const TraceWindow& window, const StepOfGpu& gpu,
             StepTimeline& timeline, std::vector<RowOfEvents>& rows) {
  const Timeline& trace = gpu.index->timeline();
  LanesOfEvents streams;
  std::vector<InStep> collectives, copies;
  for (const TraceEvent* event : gpu.index->devices().at(gpu.device->device)) {
    const auto one = in_step(window, *event);
    if (!one) continue;
    const WorkKind kind = work_kind_of(*gpu.index, *event);
    if (kind == WorkKind::collective) {
      collectives.push_back(*one);
    } else if (kind == WorkKind::copy) {
      copies.push_back(*one);
    } else {
      const std::string_view name = trace.text(trace.lane(event->lane).thread);
      streams[name.starts_with("stream") ? std::string(name) : fmt::format("stream {}", name)]
          .push_back(*one);
    }
  }
  timeline.left_out += add_lanes(group, gpu.index, std::move(streams), most_lanes, rows);
  timeline.left_out += add_rows(group, "collectives", gpu.index, std::move(collectives), rows);
  timeline.left_out += add_rows(group, "copies", gpu.index, std::move(copies), rows);
}

std::string_view category_in_timeline(const TraceIndex& index, const TraceEvent& event) {
  switch (event.kind) {
    case TraceEventKind::operation:
      return "operation";
    case TraceEventKind::call:
      return "call";
    case TraceEventKind::annotation:
    case TraceEventKind::gpu_annotation:
      return "range";
    default:
      break;
  }
  return work_kind_of(index, event) == WorkKind::copy ? "copy" : index.category_of(event);
}

/// Calls `begin` for each event that begins a block, and `extend` for each that its block takes in,
/// because both lie within `longest` ns.
template <typename Begin, typename Extend>
void each_block(const std::vector<InStep>& events, std::int64_t longest, const Begin& begin,
                const Extend& extend) {
  const InStep* first = nullptr;
  for (const InStep& one : events) {
    if (first != nullptr && longest > 0 && one.range.end - first->range.begin <= longest) {
      extend(one);
    } else {
      first = &one;
      begin(one);
    }
  }
}

std::size_t count_blocks(const std::vector<RowOfEvents>& rows, std::int64_t longest) {
  std::size_t blocks = 0;
  for (const RowOfEvents& row : rows) {
    each_block(
        row.events, longest, [&](const InStep&) { ++blocks; }, [](const InStep&) {});
  }
  return blocks;
}

/// Returns the shortest extent within which neighbours become one block so that there are at most
/// `most` blocks.
std::int64_t least_extent(const std::vector<RowOfEvents>& rows, std::int64_t length,
                          std::size_t most) {
  if (count_blocks(rows, 0) <= most) return 0;
  std::int64_t low = 0, high = length;  // too many blocks at `low`
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (count_blocks(rows, middle) <= most ? high : low) = middle;
  }
  return high;
}

TimelineRow row_of_blocks(const RowOfEvents& row, std::int64_t longest) {
  TimelineRow made{row.group, row.lane, row.row, {}};
  const auto describe = [&](TimelineBlock& block, const TraceEvent& event) {
    block.name = plain_kernel_name(row.index->name_of(event));
    block.category = category_in_timeline(*row.index, event);
    block.longest = event.duration;
  };
  each_block(
      row.events, longest,
      [&](const InStep& one) {
        TimelineBlock& block = made.blocks.emplace_back();
        block.range = one.range;
        block.busy = one.range.size();
        describe(block, *one.event);
      },
      [&](const InStep& one) {
        TimelineBlock& block = made.blocks.back();
        block.range.end = std::max(block.range.end, one.range.end);
        block.busy += one.range.size();
        ++block.count;
        if (one.event->duration > block.longest) describe(block, *one.event);
      });
  return made;
}

std::string trace_label(const ShownStep& step, const StepOfTrace& one) {
  const auto is_same = [&](const StepOfTrace& other) { return other.trace == one.trace; };
  const bool alone =
      std::ranges::all_of(step.gpus, is_same) && std::ranges::all_of(step.hosts, is_same);
  const auto rank = one.index->timeline().rank;
  if (alone && !rank) return {};
  return fmt::format("rank {}, ", rank.value_or(static_cast<int>(one.trace)));
}

}  // namespace

std::string gpu_label(const ShownStep& step, const StepOfGpu& gpu) {
  return fmt::format("{}GPU {}", trace_label(step, gpu), gpu.device->device);
}

StepTimeline step_timeline(const ShownStep& step, std::size_t most_blocks) {
  StepTimeline timeline;
  std::vector<StepOfGpu> gpus = step.gpus;
  gpus.resize(std::min(most_gpus, gpus.size()));
  std::vector<StepOfTrace> drawn(gpus.begin(), gpus.end());
  if (gpus.empty()) drawn = step.hosts;
  drawn.resize(std::min(most_gpus, drawn.size()));
  timeline.drawn = drawn.size();
  const std::map<std::size_t, TraceWindow> windows = windows_of(drawn, timeline);
  std::vector<RowOfEvents> rows;
  std::set<std::size_t> hosts;
  if (gpus.empty()) {
    for (const StepOfTrace& one : drawn) {
      add_host(trace_label(step, one) + "host", windows.at(one.trace), timeline, rows);
    }
  }
  for (const StepOfGpu& gpu : gpus) {
    const TraceWindow& window = windows.at(gpu.trace);
    if (hosts.insert(gpu.trace).second) {
      add_host(trace_label(step, gpu) + "host", window, timeline, rows);
    }
    add_gpu(gpu_label(step, gpu), window, gpu, timeline, rows);
  }
  timeline.merged = least_extent(rows, timeline.length, most_blocks);
  for (const RowOfEvents& row : rows) {
    timeline.events += row.events.size();
    timeline.rows.push_back(row_of_blocks(row, timeline.merged));
  }
  return timeline;
}

}  // namespace assay
