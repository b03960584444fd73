// rocpd, the SQLite database that rocprofv3 and rocprof-sys write. Each process has tables of its
// own, whose names end in its identifier; views join them, but views of a file are not trusted.
#include <fmt/format.h>

#include "core/shown_text.h"
#include "results/traces/sqlite_trace.h"
#include "results/traces/trace_reader.h"

namespace assay::rocpd {
namespace {

constexpr std::string_view dispatch_prefix = "rocpd_kernel_dispatch";

/// The tables of one process.
class Process {
 public:
  Process(SqliteTrace& trace, std::string suffix, std::uint64_t number, Timeline& timeline)
      : trace_(trace), suffix_(std::move(suffix)), number_(number), timeline_(timeline) {}

  void read() {
    const std::string event = table("event");
    constexpr std::size_t most_devices = 1024;
    trace_.rows(fmt::format("SELECT absolute_index, product_name, name FROM {} WHERE type = 'GPU'",
                            table("info_agent")),
                "the table of agents", timeline_, [&](const Statement& row) {
                  constexpr std::size_t longest_name = 200;
                  const std::string product = row.text(1);
                  timeline_.devices[shown_line(row.text(0), longest_name)].name =
                      shown_line(product.empty() ? row.text(2) : product, longest_name);
                  return timeline_.devices.size() < most_devices;
                });
    trace_.rows(
        fmt::format(
            "SELECT K.start, K.\"end\", A.absolute_index, K.queue_id, S.display_name, "
            "E.correlation_id, K.grid_size_x, K.grid_size_y, K.grid_size_z, "
            "K.workgroup_size_x, K.workgroup_size_y, K.workgroup_size_z FROM {} K LEFT JOIN "
            "{} A ON A.id = K.agent_id AND A.guid = K.guid LEFT JOIN {} S ON S.id = "
            "K.kernel_id AND S.guid = K.guid LEFT JOIN {} E ON E.id = K.event_id AND E.guid "
            "= K.guid",
            table("kernel_dispatch"), table("info_agent"), table("info_kernel_symbol"), event),
        "the table of kernels", timeline_, [&](const Statement& row) {
          TraceEvent one = work(row, TraceEventKind::kernel);
          EventDetail detail;
          for (int i = 0; i < 3; ++i) {
            detail.grid[static_cast<std::size_t>(i)] = small_at(row, 6 + i);
            detail.block[static_cast<std::size_t>(i)] = small_at(row, 9 + i);
          }
          one.detail = timeline_.detail_id(detail);
          return add(one, row);
        });
    trace_.rows(
        fmt::format(
            "SELECT M.start, M.\"end\", CASE WHEN F.type = 'GPU' AND A.type IS NOT 'GPU' THEN "
            "F.absolute_index ELSE A.absolute_index END, M.queue_id, R.string, "
            "E.correlation_id, M.size FROM {} M LEFT JOIN {} A ON A.id = M.dst_agent_id AND "
            "A.guid = M.guid LEFT JOIN {} F ON F.id = M.src_agent_id AND F.guid = M.guid "
            "LEFT JOIN {} R ON R.id = M.name_id LEFT JOIN {} E ON E.id = "
            "M.event_id AND E.guid = M.guid",
            table("memory_copy"), table("info_agent"), table("info_agent"), table("string"), event),
        "the table of copies", timeline_, [&](const Statement& row) {
          TraceEvent one = work(row, TraceEventKind::copy);
          EventDetail detail;
          detail.bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(row.integer(6), 0));
          one.detail = timeline_.detail_id(detail);
          return add(one, row);
        });
    trace_.rows(
        fmt::format("SELECT R.start, R.\"end\", R.pid, R.tid, S.string, E.correlation_id FROM "
                    "{} R LEFT JOIN {} S ON S.id = R.name_id LEFT JOIN {} E ON E.id = "
                    "R.event_id AND E.guid = R.guid",
                    table("region"), table("string"), event),
        "the table of calls", timeline_, [&](const Statement& row) {
          TraceEvent one = work(row, TraceEventKind::call);
          return add(one, row);
        });
  }

 private:
  std::string table(std::string_view name) const {
    return sql_name(fmt::format("rocpd_{}{}", name, suffix_));
  }
  TraceEvent work(const Statement& row, TraceEventKind kind) {
    TraceEvent event;
    event.kind = kind;
    event.name = timeline_.text_id(row.text(4));
    event.correlation = number_in_process(number_, number_at(row, 5));
    event.lane = timeline_.lane_id({timeline_.text_id(row.text(2)),
                                    timeline_.text_id(text_in_process(number_, row.text(3))),
                                    is_gpu_work(kind)});
    return event;
  }
  bool add(const TraceEvent& event, const Statement& row) {
    return timeline_.add(event, time_at(row, 0), time_at(row, 1));
  }

  SqliteTrace& trace_;
  std::string suffix_;
  std::uint64_t number_;
  Timeline& timeline_;
};

class Reader : public TraceReader {
 public:
  std::string_view name() const override { return "rocpd"; }
  std::string_view summary() const override { return "rocprofv3's and rocprof-sys's database"; }
  bool recognises(std::string_view start) const override {
    return start.starts_with(sqlite_mark) && start.find("rocpd_") != start.npos;
  }
  Status read(TraceStream& stream, Timeline& timeline) const override {
    SqliteTrace trace = TRY(SqliteTrace::open(stream));
    timeline.grid_in_work_items = true;
    std::uint64_t processes = 0;
    for (const std::string& table : trace.tables()) {
      if (!table.starts_with(dispatch_prefix)) continue;
      Process(trace, table.substr(dispatch_prefix.size()), processes++, timeline).read();
    }
    if (processes > 0) return {};
    return Error{ErrorKind::usage, fmt::format("{} has no table {}*: it is no trace of rocprofv3",
                                               stream.name(), dispatch_prefix)};
  }
};

const Reader reader;
const TraceReaderRegistry::Add registered{&reader};

}  // namespace
}  // namespace assay::rocpd
