#include "judge/trace/shown_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/shown_text.h"
#include "core/text.h"

namespace assay {
namespace {

/// Returns the position of the lower median by time.
std::size_t median_step(const std::vector<DeviceStep>& steps) {
  std::vector<std::int64_t> spans;
  for (const DeviceStep& step : steps) spans.push_back(step.window.size());
  const std::int64_t middle = lower_median(spans);
  return static_cast<std::size_t>(std::find(spans.begin(), spans.end(), middle) - spans.begin());
}

Result<std::size_t> wanted_step(const std::vector<DeviceStep>& steps, const std::string& wanted) {
  if (wanted.empty()) return median_step(steps);
  const auto named = std::find_if(steps.begin(), steps.end(),
                                  [&](const DeviceStep& step) { return step.name == wanted; });
  if (named != steps.end()) return static_cast<std::size_t>(named - steps.begin());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (wanted == std::to_string(i + 1)) return i;
  }
  return Error{
      ErrorKind::usage,
      fmt::format("there is no step {}; allowed are 1 to {}, or a name such as {}",
                  shown_line(wanted, 100), steps.size(), shown_line(steps.front().name, 100))};
}

/// Returns the step at the same position if it has the same name, else the first of that name; null
/// if there is none.
const DeviceStep* counterpart(const std::vector<DeviceStep>& steps, std::size_t position,
                              const std::string& name) {
  if (position < steps.size() && steps[position].name == name) return &steps[position];
  const auto named = std::find_if(steps.begin(), steps.end(),
                                  [&](const DeviceStep& step) { return step.name == name; });
  return named == steps.end() ? nullptr : &*named;
}

TimeRange whole_window(const std::vector<const TraceEvent*>& events) {
  std::int64_t end = events.front()->end();
  for (const TraceEvent* event : events) end = std::max(end, event->end());
  return {events.front()->start, end};
}

}  // namespace

Result<ShownStep> choose_step(const std::vector<TraceIndex>& indices,
                              const std::vector<TraceReport>& reports, const std::string& wanted) {
  ShownStep shown;
  const std::vector<DeviceStep>* first = nullptr;
  for (const TraceReport& report : reports) {
    for (const DeviceReport& device : report.devices) {
      if (first == nullptr && !device.steps.empty()) first = &device.steps;
    }
  }
  std::size_t position = 0;
  if (first != nullptr) {
    position = TRY(wanted_step(*first, wanted));
    shown.name = (*first)[position].name;
    shown.number = position + 1;
    shown.all = first->size();
  } else if (!wanted.empty()) {
    return Error{ErrorKind::usage,
                 fmt::format("there is no step {}, because the trace names no steps; leave it out "
                             "to see all of the trace",
                             shown_line(wanted, 100))};
  }
  for (std::size_t i = 0; i < reports.size(); ++i) {
    for (const DeviceReport& device : reports[i].devices) {
      StepOfGpu gpu{&indices[i], i, &device, {}, {}};
      if (first == nullptr) {
        gpu.window = whole_window(indices[i].devices().at(device.device));
        gpu.times = device.times;
      } else {
        const DeviceStep* step = counterpart(device.steps, position, shown.name);
        if (step == nullptr) {
          ++shown.without;
          continue;
        }
        gpu.window = step->window;
        gpu.times = step->times;
      }
      shown.gpus.push_back(gpu);
    }
  }
  return shown;
}

std::vector<const TraceEvent*> work_of(const StepOfGpu& step) {
  const auto& all = step.index->devices().at(step.device->device);
  const auto starts_before = [](const TraceEvent* event, std::int64_t time) {
    return event->start < time;
  };
  const auto begin = std::lower_bound(all.begin(), all.end(), step.window.begin, starts_before);
  return {begin, std::lower_bound(begin, all.end(), step.window.end, starts_before)};
}

}  // namespace assay
