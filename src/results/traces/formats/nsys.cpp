// Nsight Systems' SQLite export (nsys export --type sqlite). Which tables and columns there are
// depends on what was recorded and on the version.
#include <fmt/format.h>

#include <map>

#include "core/shown_text.h"
#include "results/traces/sqlite_trace.h"
#include "results/traces/trace_reader.h"

namespace assay::nsys {
namespace {

/// Processes and threads are in the upper and lower 24 bits of one number.
std::string thread_part(std::int64_t number, int shift) {
  constexpr std::int64_t mask = 0xffffff;
  return std::to_string(number >> shift & mask);
}

/// "cudaLaunchKernel_v7000" -> "cudaLaunchKernel"
std::string without_version(std::string name) {
  const std::size_t at = name.rfind("_v");
  if (at != std::string::npos &&
      name.find_first_not_of("0123456789", at + 2) == std::string::npos) {
    name.resize(at);
  }
  return name;
}

/// The processes of a file in the order in which they are found.
class Processes {
 public:
  /// `number` has the process in its upper bits, as globalPid and globalTid have; 0: unknown, which
  /// counts as the first.
  std::uint64_t number_of(std::int64_t number) {
    if (number == 0) return 0;
    return numbers_.emplace(thread_part(number, 24), numbers_.size()).first->second;
  }

 private:
  std::map<std::string, std::uint64_t> numbers_;
};

/// Returns the column of work's process; "0" in a table of an older version, which has none.
std::string process_column(SqliteTrace& trace, const char* table, Timeline& timeline) {
  std::string column = "0";
  trace.rows(fmt::format("SELECT 1 FROM pragma_table_info('{}') WHERE name = 'globalPid'", table),
             table, timeline, [&](const Statement&) {
               column = "globalPid";
               return true;
             });
  return column;
}

void read_kernels(SqliteTrace& trace, Timeline& timeline, Processes& processes) {
  const char* const table = "CUPTI_ACTIVITY_KIND_KERNEL";
  trace.rows(
      fmt::format(
          "SELECT start, \"end\", deviceId, streamId, correlationId, S.value, gridX, gridY, gridZ, "
          "blockX, blockY, blockZ, {} FROM {} LEFT JOIN StringIds S ON S.id = demangledName",
          process_column(trace, table, timeline), table),
      "the table of kernels", timeline, [&](const Statement& row) {
        TraceEvent event;
        event.kind = TraceEventKind::kernel;
        const std::uint64_t process = processes.number_of(row.integer(12));
        event.correlation = number_in_process(process, number_at(row, 4));
        event.name = timeline.text_id(row.text(5));
        event.lane =
            timeline.lane_id({timeline.text_id(row.text(2)),
                              timeline.text_id(text_in_process(process, row.text(3))), true});
        EventDetail detail;
        for (int i = 0; i < 3; ++i) {
          detail.grid[static_cast<std::size_t>(i)] = small_at(row, 6 + i);
          detail.block[static_cast<std::size_t>(i)] = small_at(row, 9 + i);
        }
        event.detail = timeline.detail_id(detail);
        return timeline.add(event, time_at(row, 0), time_at(row, 1));
      });
}

/// Copies, memsets and whole graphs have the same columns, `bytes` aside.
void read_others(SqliteTrace& trace, Timeline& timeline, Processes& processes, const char* table,
                 TraceEventKind kind, const char* name, bool has_bytes) {
  if (!trace.has(table)) return;
  trace.rows(fmt::format("SELECT start, \"end\", deviceId, streamId, correlationId, {}, {} FROM {}",
                         has_bytes ? "bytes" : "0", process_column(trace, table, timeline), table),
             table, timeline, [&](const Statement& row) {
               TraceEvent event;
               event.kind = kind;
               const std::uint64_t process = processes.number_of(row.integer(6));
               event.correlation = number_in_process(process, number_at(row, 4));
               event.name = timeline.text_id(name);
               event.lane = timeline.lane_id(
                   {timeline.text_id(row.text(2)),
                    timeline.text_id(text_in_process(process, row.text(3))), true});
               EventDetail detail;
               detail.bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(row.integer(5), 0));
               event.detail = timeline.detail_id(detail);
               return timeline.add(event, time_at(row, 0), time_at(row, 1));
             });
}

void read_host(SqliteTrace& trace, Timeline& timeline, Processes& processes) {
  const auto lane = [&](const Statement& row) {
    return timeline.lane_id({timeline.text_id(thread_part(row.integer(2), 24)),
                             timeline.text_id(thread_part(row.integer(2), 0)), false});
  };
  if (trace.has("CUPTI_ACTIVITY_KIND_RUNTIME")) {
    trace.rows(
        "SELECT start, \"end\", globalTid, S.value, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME "
        "LEFT JOIN StringIds S ON S.id = nameId",
        "the table of calls", timeline, [&](const Statement& row) {
          TraceEvent event;
          event.kind = TraceEventKind::call;
          event.correlation =
              number_in_process(processes.number_of(row.integer(2)), number_at(row, 4));
          event.name = timeline.text_id(without_version(row.text(3)));
          event.lane = lane(row);
          return timeline.add(event, time_at(row, 0), time_at(row, 1));
        });
  }
  if (trace.has("NVTX_EVENTS")) {
    trace.rows(
        "SELECT start, \"end\", globalTid, coalesce(text, S.value) FROM NVTX_EVENTS LEFT JOIN "
        "StringIds S ON S.id = textId WHERE \"end\" IS NOT NULL AND eventType IN (59, 60)",
        "the table of NVTX ranges", timeline, [&](const Statement& row) {
          TraceEvent event;
          event.kind = TraceEventKind::annotation;
          event.name = timeline.text_id(row.text(3));
          event.lane = lane(row);
          return timeline.add(event, time_at(row, 0), time_at(row, 1));
        });
  }
}

class Reader : public TraceReader {
 public:
  std::string_view name() const override { return "nsys"; }
  std::string_view summary() const override { return "Nsight Systems' SQLite export"; }
  bool recognises(std::string_view start) const override {
    return start.starts_with(sqlite_mark) && start.find("StringIds") != start.npos;
  }
  Status read(TraceStream& stream, Timeline& timeline) const override {
    SqliteTrace trace = TRY(SqliteTrace::open(stream));
    if (trace.has("TARGET_INFO_GPU")) {
      constexpr std::size_t most_devices = 1024;
      trace.rows("SELECT id, name, smCount FROM TARGET_INFO_GPU", "the table of GPUs", timeline,
                 [&](const Statement& row) {
                   constexpr std::size_t longest_name = 200;
                   timeline.devices[shown_line(row.text(0), longest_name)] = {
                       shown_line(row.text(1), longest_name), small_at(row, 2)};
                   return timeline.devices.size() < most_devices;
                 });
    }
    Processes processes;
    if (trace.has("CUPTI_ACTIVITY_KIND_KERNEL")) read_kernels(trace, timeline, processes);
    read_others(trace, timeline, processes, "CUPTI_ACTIVITY_KIND_MEMCPY", TraceEventKind::copy,
                "Memcpy", true);
    read_others(trace, timeline, processes, "CUPTI_ACTIVITY_KIND_MEMSET", TraceEventKind::fill,
                "Memset", true);
    read_others(trace, timeline, processes, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                TraceEventKind::graph, "a CUDA graph", false);
    if (trace.has("CUPTI_ACTIVITY_KIND_GRAPH_TRACE")) {
      timeline.note(
          "graphs were recorded as a whole; record their kernels with "
          "--cuda-graph-trace=node");
    }
    read_host(trace, timeline, processes);
    return {};
  }
};

const Reader reader;
const TraceReaderRegistry::Add registered{&reader};

}  // namespace
}  // namespace assay::nsys
