#include "statistics/time_ranges.h"

#include <algorithm>
#include <limits>

namespace assay {

TimeRanges union_of(std::vector<TimeRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const TimeRange& a, const TimeRange& b) { return a.begin < b.begin; });
  TimeRanges set;
  for (const TimeRange& one : ranges) {
    if (one.end <= one.begin) continue;
    if (!set.empty() && one.begin <= set.back().end) {
      set.back().end = std::max(set.back().end, one.end);
    } else {
      set.push_back(one);
    }
  }
  return set;
}

TimeRanges minus(const TimeRanges& set, const TimeRanges& other) {
  TimeRanges left;
  auto hole = other.begin();
  for (const TimeRange& one : set) {
    while (hole != other.end() && hole->end <= one.begin) ++hole;
    std::int64_t at = one.begin;
    for (auto next = hole; next != other.end() && next->begin < one.end; ++next) {
      if (next->begin > at) left.push_back({at, next->begin});
      at = next->end;
    }
    if (at < one.end) left.push_back({at, one.end});
  }
  return left;
}

TimeRanges within(const TimeRanges& set, TimeRange window) {
  TimeRanges inside;
  for (const TimeRange& one : set) {
    const TimeRange cut = {std::max(one.begin, window.begin), std::min(one.end, window.end)};
    if (cut.begin < cut.end) inside.push_back(cut);
  }
  return inside;
}

std::int64_t size_of(const TimeRanges& set) {
  std::int64_t total = 0;
  for (const TimeRange& one : set) total += one.size();
  return total;
}

std::int64_t add_saturated(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  using Limits = std::numeric_limits<std::int64_t>;
  return b > 0 ? Limits::max() : Limits::min();
}

}  // namespace assay
