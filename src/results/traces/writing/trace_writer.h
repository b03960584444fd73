// Writes timelines as files that ui.perfetto.dev, chrome://tracing and assay's own readers open:
// Perfetto's protobuf, or Chrome's JSON. The timelines of several ranks become one file on one
// clock. Each rank makes its part, and the parts are put together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "results/timeline/timeline.h"

namespace assay {

enum class TraceFormat { chrome, perfetto };

/// What the name of a trace file says of it.
struct TraceFileKind {
  TraceFormat format = TraceFormat::chrome;
  bool compressed = false;
};

/// Returns what a file of this name holds: "a.json", "a.pftrace", "a.perfetto-trace", each also
/// with ".gz". Error: usage, for other names.
Result<TraceFileKind> trace_file_kind(std::string_view name);

/// Returns the part of `rank`. Its times are those since `base`, which is in ns since 1970.
std::string trace_part(const Timeline& timeline, TraceFormat format, int rank, std::int64_t base);

/// Returns the bytes of the file made of the parts of all ranks. Error: exhausted, while
/// compressing.
Result<std::string> whole_trace(const std::vector<std::string>& parts, TraceFileKind kind,
                                std::int64_t base);

/// A row of a viewer: events of one lane, of which any two are apart or one inside the other.
/// Viewers drop events that overlap otherwise, so they are in further rows, of which a lane has
/// about 100 at most; the last takes what is left.
struct TraceRow {
  LaneId lane = 0;
  std::size_t number = 0;                 ///< of the rows of this lane
  std::vector<const TraceEvent*> events;  ///< by start; the longer one first
};
std::vector<TraceRow> nested_rows(const Timeline& timeline);

/// The numbers of a rank's rows in a file begin at its number times this (twice this in Perfetto's
/// format), so that no two rows of a file have the same number.
constexpr std::uint64_t most_rows_of_rank = 1'000'000;

}  // namespace assay
