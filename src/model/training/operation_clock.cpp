#include "model/training/operation_clock.h"

#include <algorithm>

namespace assay {

Status OperationClock::mark(Stream& stream, Phase phase, std::string_view name) {
  marks_.push_back({phase, std::string(name), TRY(device_.create_event())});
  Event& event = *marks_.back().event;
  return replayed_ ? stream.record_each_replay(event) : stream.record(event);
}

Result<std::vector<OperationClock::Time>> OperationClock::times() const {
  std::vector<Time> times;
  for (std::size_t i = 1; i < marks_.size(); ++i) {
    const Mark& mark = marks_[i];
    auto known = std::find_if(times.begin(), times.end(), [&](const Time& time) {
      return time.phase == mark.phase && time.name == mark.name;
    });
    if (known == times.end()) known = times.insert(times.end(), {mark.phase, mark.name, 0});
    known->seconds += TRY(mark.event->seconds_since(*marks_[i - 1].event));
  }
  return times;
}

}  // namespace assay
