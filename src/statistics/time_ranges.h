// Sets of times as ranges of integer nanoseconds: unions, differences and their sizes.
#pragma once

#include <cstdint>
#include <vector>

namespace assay {

/// The times from `begin` up to, but not including, `end`.
struct TimeRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
  friend bool operator==(const TimeRange&, const TimeRange&) = default;
};

/// Ranges that are sorted and neither overlap nor touch.
using TimeRanges = std::vector<TimeRange>;

/// Returns the times that at least one of `ranges` covers. They may be in any order; empty and
/// reversed ones are ignored.
TimeRanges union_of(std::vector<TimeRange> ranges);
/// Returns the times of `set` that are not in `other`.
TimeRanges minus(const TimeRanges& set, const TimeRanges& other);
/// Returns the times of `set` inside `window`.
TimeRanges within(const TimeRanges& set, TimeRange window);
std::int64_t size_of(const TimeRanges& set);  ///< nanoseconds that the set covers

/// Returns a + b, or the nearest number that the type has.
std::int64_t add_saturated(std::int64_t a, std::int64_t b);

}  // namespace assay
