#include "results/traces/writing/trace_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/shown_text.h"
#include "results/traces/writing/formats.h"
#include "results/traces/writing/gzip.h"

namespace assay {
Result<TraceFileKind> trace_file_kind(std::string_view name) {
  const std::string_view whole = name;
  TraceFileKind kind;
  if (name.ends_with(".gz")) {
    kind.compressed = true;
    name.remove_suffix(3);
  }
  if (name.ends_with(".json")) return kind;
  kind.format = TraceFormat::perfetto;
  if (name.ends_with(".pftrace") || name.ends_with(".perfetto-trace")) return kind;
  return Error{ErrorKind::usage,
               fmt::format("\"{}\" is no name of a trace; allowed: FILE.json, FILE.pftrace or "
                           "FILE.perfetto-trace, each also with .gz",
                           shown_line(whole, 200))};
}

std::vector<TraceRow> nested_rows(const Timeline& timeline) {
  std::vector<std::vector<const TraceEvent*>> lanes(timeline.lanes().size());
  for (const TraceEvent& event : timeline.events()) lanes[event.lane].push_back(&event);
  std::vector<TraceRow> rows;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    auto& events = lanes[lane];
    const auto before = [](const TraceEvent* a, const TraceEvent* b) {
      if (a->start != b->start) return a->start < b->start;
      if (a->duration != b->duration) return a->duration > b->duration;
      return a->kind == TraceEventKind::gpu_annotation && b->kind != a->kind;
    };
    if (!std::is_sorted(events.begin(), events.end(), before)) {
      std::stable_sort(events.begin(), events.end(), before);
    }
    const std::size_t first = rows.size();
    std::vector<std::vector<std::int64_t>> open;  // ends of the events that a row is inside of
    for (const TraceEvent* event : events) {
      for (std::size_t row = 0;; ++row) {
        if (row == open.size()) {
          open.emplace_back();
          rows.push_back({static_cast<LaneId>(lane), row, {}});
        }
        std::vector<std::int64_t>& ends = open[row];
        while (!ends.empty() && ends.back() <= event->start) ends.pop_back();
        constexpr std::size_t most_rows = 100;
        if (!ends.empty() && event->end() > ends.back() && row < most_rows) continue;
        ends.push_back(event->end());
        rows[first + row].events.push_back(event);
        break;
      }
    }
  }
  return rows;
}

std::string trace_part(const Timeline& timeline, TraceFormat format, int rank, std::int64_t base) {
  return format == TraceFormat::chrome ? chrome_part(timeline, rank, timeline.epoch - base)
                                       : perfetto_part(timeline, rank, timeline.epoch - base);
}

Result<std::string> whole_trace(const std::vector<std::string>& parts, TraceFileKind kind,
                                std::int64_t base) {
  std::string text =
      kind.format == TraceFormat::chrome ? whole_chrome(parts, base) : whole_perfetto(parts, base);
  if (!kind.compressed) return text;
  std::string bytes;
  TRY(Gzip().add(text, true, bytes));
  return bytes;
}

}  // namespace assay
