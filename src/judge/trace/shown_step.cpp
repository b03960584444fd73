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

/// The steps of the trace's hosts, without times of a GPU.
std::vector<DeviceStep> host_steps(const TraceIndex& index) {
  std::vector<DeviceStep> steps;
  for (const TraceStep& step : index.steps()) steps.push_back({step.name, step.host, {}});
  return steps;
}

/// Chooses the step among those of the first GPU or host that has some. Returns its position.
Result<std::size_t> choose_among(const std::vector<DeviceStep>* first, const std::string& wanted,
                                 ShownStep& shown) {
  if (first == nullptr) {
    if (wanted.empty()) return 0;
    return Error{ErrorKind::usage,
                 fmt::format("there is no step {}, because the trace names no steps; leave it out "
                             "to see all of the trace",
                             shown_line(wanted, 100))};
  }
  const std::size_t position = TRY(wanted_step(*first, wanted));
  shown.name = (*first)[position].name;
  shown.number = position + 1;
  shown.all = first->size();
  return position;
}

/// Traces that have no work of a GPU.
Result<ShownStep> choose_host_step(const std::vector<TraceIndex>& indices,
                                   const std::string& wanted) {
  ShownStep shown;
  std::vector<std::vector<DeviceStep>> steps;
  for (const TraceIndex& index : indices) steps.push_back(host_steps(index));
  const auto first =
      std::find_if(steps.begin(), steps.end(), [](const auto& some) { return !some.empty(); });
  const std::size_t position =
      TRY(choose_among(first == steps.end() ? nullptr : &*first, wanted, shown));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (first == steps.end()) {
      if (indices[i].host().size() > 0) shown.hosts.push_back({&indices[i], i, indices[i].host()});
    } else if (const DeviceStep* step = counterpart(steps[i], position, shown.name)) {
      shown.hosts.push_back({&indices[i], i, step->window});
    } else {
      ++shown.without;
    }
  }
  return shown;
}

}  // namespace

Result<ShownStep> choose_step(const std::vector<TraceIndex>& indices,
                              const std::vector<TraceReport>& reports, const std::string& wanted) {
  ShownStep shown;
  const std::vector<DeviceStep>* first = nullptr;
  bool any_device = false;
  for (const TraceReport& report : reports) {
    for (const DeviceReport& device : report.devices) {
      any_device = true;
      if (first == nullptr && !device.steps.empty()) first = &device.steps;
    }
  }
  if (!any_device) return choose_host_step(indices, wanted);
  const std::size_t position = TRY(choose_among(first, wanted, shown));
  for (std::size_t i = 0; i < reports.size(); ++i) {
    for (const DeviceReport& device : reports[i].devices) {
      StepOfGpu gpu;
      gpu.index = &indices[i];
      gpu.trace = i;
      gpu.device = &device;
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
