// Tables of rocprofv3 (-f csv) and of rocprof before it: kernels, memory copies, calls. Columns are
// found by name, because each version has others.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "core/text.h"
#include "results/traces/csv_rows.h"
#include "results/traces/trace_reader.h"

namespace assay::rocprof_csv {
namespace {

/// Returns the field of the first of these columns that the table has.
std::string_view field_of(const CsvTable& table, const CsvRow& row,
                          std::initializer_list<std::string_view> columns) {
  for (const std::string_view column : columns) {
    if (table.has(column)) return table.at(row, column);
  }
  return {};
}

std::uint32_t count_of(std::string_view text) {
  const auto count = parse_count(text);
  return count && *count <= UINT32_MAX ? static_cast<std::uint32_t>(*count) : 0;
}

/// The kind of events of a table with these columns.
TraceEventKind kind_of(const CsvTable& table) {
  if (table.has("Kernel_Name") || table.has("KernelName")) return TraceEventKind::kernel;
  return table.has("Direction") ? TraceEventKind::copy : TraceEventKind::call;
}

TraceEvent event_of(const CsvTable& table, const CsvRow& row, Timeline& timeline) {
  const auto text = [&](std::initializer_list<std::string_view> columns) {
    return timeline.text_id(field_of(table, row, columns));
  };
  TraceEvent event;
  event.kind = kind_of(table);
  event.correlation =
      parse_count(field_of(table, row, {"Correlation_Id", "Correlation_ID"})).value_or(no_number);
  event.name = text({"Kernel_Name", "KernelName", "Function", "Direction"});
  if (event.kind == TraceEventKind::call) {
    event.lane = timeline.lane_id({text({"Process_Id"}), text({"Thread_Id"}), false});
    return event;
  }
  const TextId device = text({"Agent_Id", "GPU_ID", "gpu-id", "Destination_Agent_Id"});
  const TextId queue = event.kind == TraceEventKind::copy
                           ? timeline.text_id(copy_lane(field_of(table, row, {"Stream_Id"})))
                           : text({"Queue_Id", "Queue_ID", "queue-id"});
  event.lane = timeline.lane_id({device, queue, true});
  EventDetail detail;
  if (table.has("Grid_Size_X")) {
    constexpr std::array<std::string_view, 3> grid = {"Grid_Size_X", "Grid_Size_Y", "Grid_Size_Z"};
    constexpr std::array<std::string_view, 3> block = {"Workgroup_Size_X", "Workgroup_Size_Y",
                                                       "Workgroup_Size_Z"};
    for (std::size_t i = 0; i < 3; ++i) {
      detail.grid[i] = count_of(table.at(row, grid[i]));
      detail.block[i] = count_of(table.at(row, block[i]));
    }
  }
  event.detail = timeline.detail_id(detail);
  return event;
}

class Reader : public TraceReader {
 public:
  std::string_view name() const override { return "rocprof-csv"; }
  std::string_view summary() const override { return "tables of rocprofv3 and rocprof"; }
  bool recognises(std::string_view start) const override {
    const std::string_view header = start.substr(0, start.find('\n'));
    const auto has = [&](std::string_view column) { return header.find(column) != header.npos; };
    // A table of counters has a row for every counter of a kernel.
    if (has("Counter_Name") || !has(",")) return false;
    const bool named =
        has("Kernel_Name") || has("KernelName") || has("Function") || has("Direction");
    return named && (has("Start_Timestamp") || has("BeginNs"));
  }
  Status read(TraceStream& stream, Timeline& timeline) const override {
    timeline.grid_in_work_items = true;
    CsvTable table;
    const bool whole = for_each_csv_row(stream, [&](const CsvRow& row) {
      if (table.size() == 0) {
        table = CsvTable(row.fields);
        if (kind_of(table) == TraceEventKind::copy) {
          timeline.note("copies are listed at their destination, which may be a CPU");
        }
        return true;
      }
      const auto time = [&](std::initializer_list<std::string_view> columns) {
        return decimal_time(field_of(table, row, columns), 0);
      };
      return timeline.add(event_of(table, row, timeline), time({"Start_Timestamp", "BeginNs"}),
                          time({"End_Timestamp", "EndNs"}));
    });
    if (!whole) {
      timeline.note(fmt::format("{} has a line of more than 64 MiB; what is before it was read",
                                stream.name()));
    }
    return {};
  }
};

const Reader reader;
const TraceReaderRegistry::Add registered{&reader};

}  // namespace
}  // namespace assay::rocprof_csv
