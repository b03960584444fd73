#include "measure/sampling/event_resolution.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace assay {

Result<double> event_resolution(Device& device, Stream& stream, const Kernel& kernel) {
  const std::unique_ptr<Event> start = TRY(device.create_event()),
                               stop = TRY(device.create_event());
  std::vector<double> intervals;
  for (int i = 0; i < 300; ++i) {
    TRY(stream.record(*start));
    for (int k = 0; k <= i % 3; ++k) TRY(launch(stream, kernel, {}, 0));
    TRY(stream.record(*stop));
    TRY(stream.synchronize());
    intervals.push_back(TRY(stop->seconds_since(*start)));
  }
  std::sort(intervals.begin(), intervals.end());
  double least = 0;
  for (std::size_t i = 1; i < intervals.size(); ++i) {
    const double step = intervals[i] - intervals[i - 1];
    // Differences below 0.1 ns are rounding of the driver's float milliseconds.
    if (step > 1e-10 && (least == 0 || step < least)) least = step;
  }
  return least;
}

}  // namespace assay
