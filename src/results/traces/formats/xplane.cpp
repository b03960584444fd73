// XSpace (*.xplane.pb), the profile of JAX and XLA. One file has all GPUs of a host, a plane each.
#include <fmt/format.h>

#include <charconv>
#include <map>
#include <unordered_map>

#include "core/wire.h"
#include "results/traces/trace_reader.h"

namespace assay::xplane {
namespace {

constexpr std::string_view gpu_prefix = "/device:GPU:";

struct Plane {
  std::string_view name;
  std::unordered_map<std::uint64_t, std::string_view> names, stats;  // of events and statistics
};

/// Reads an entry of a map from a number to a message whose field 2 is a name.
void read_name(std::string_view entry, std::unordered_map<std::uint64_t, std::string_view>& names) {
  std::uint64_t key = 0;
  std::string_view name;
  WireReader reader(entry);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) key = field.integer;
    if (field.number != 2) continue;
    WireReader value(field.bytes);
    for (WireField part; value.next(part);) {
      if (part.number == 2) name = part.bytes;
    }
  }
  constexpr std::size_t most_names = 4'000'000;
  if (names.size() < most_names) names.insert_or_assign(key, name);
}

Plane plane_of(std::string_view bytes) {
  Plane plane;
  WireReader reader(bytes);
  for (WireField field; reader.next(field);) {
    if (field.number == 2) plane.name = field.bytes;
    if (field.number == 4) read_name(field.bytes, plane.names);
    if (field.number == 5) read_name(field.bytes, plane.stats);
  }
  return plane;
}

struct Event {
  std::uint64_t name = 0, correlation = no_number;
  std::int64_t offset_ps = 0, duration_ps = 0;
};

Event event_of(std::string_view bytes, const Plane& plane) {
  Event event;
  WireReader reader(bytes);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) event.name = field.integer;
    if (field.number == 2) event.offset_ps = static_cast<std::int64_t>(field.integer);
    if (field.number == 3) event.duration_ps = static_cast<std::int64_t>(field.integer);
    if (field.number != 4) continue;
    WireReader stat(field.bytes);
    std::uint64_t kind = 0, value = 0;
    for (WireField part; stat.next(part);) {
      if (part.number == 1) kind = part.integer;
      if (part.number == 3 || part.number == 4) value = part.integer;
    }
    const auto at = plane.stats.find(kind);
    if (at != plane.stats.end() && at->second == "correlation_id") event.correlation = value;
  }
  return event;
}

/// Returns picoseconds after `line_ns` as nanoseconds, rounded down; empty if it is impossible.
std::optional<std::int64_t> nanoseconds(std::int64_t line_ns, __int128 picoseconds) {
  const __int128 all = static_cast<__int128>(line_ns) * 1000 + picoseconds;
  const __int128 down = all / 1000 - (all % 1000 < 0 ? 1 : 0);
  if (down > longest_time || down < -longest_time) return std::nullopt;
  return static_cast<std::int64_t>(down);
}

bool read_line(std::string_view bytes, const Plane& plane, std::string_view device,
               Timeline& timeline) {
  if (timeline.is_full()) return false;  // lines take room, too
  std::uint64_t id = 0;
  std::string_view name;
  std::int64_t begin = 0;
  WireReader reader(bytes);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) id = field.integer;
    if (field.number == 2) name = field.bytes;
    if (field.number == 3) begin = static_cast<std::int64_t>(field.integer);
  }
  // Other lines are derived from the streams: steps, modules, operations.
  if (!name.starts_with("Stream #")) return true;
  const LaneId lane =
      timeline.lane_id({timeline.text_id(device), timeline.text_id(std::to_string(id)), true});
  WireReader events(bytes);
  for (WireField field; events.next(field);) {
    if (field.number != 4) continue;
    const Event found = event_of(field.bytes, plane);
    TraceEvent event;
    event.kind = TraceEventKind::kernel;
    event.correlation = found.correlation;
    const auto text = plane.names.find(found.name);
    event.name = timeline.text_id(text == plane.names.end() ? std::string_view() : text->second);
    event.lane = lane;
    const auto start = nanoseconds(begin, found.offset_ps);
    const auto end = nanoseconds(begin, static_cast<__int128>(found.offset_ps) + found.duration_ps);
    if (!timeline.add(event, start, end)) return false;
  }
  return true;
}

class Reader : public TraceReader {
 public:
  std::string_view name() const override { return "xplane"; }
  std::string_view summary() const override { return "JAX's and XLA's profile"; }
  bool recognises(std::string_view start) const override {
    return start.starts_with('\x0a') &&
           (start.find("/host:CPU") != start.npos || start.find("/device:") != start.npos ||
            start.find("/host:metadata") != start.npos || start.find("Stream #") != start.npos);
  }
  Status read(TraceStream& stream, Timeline& timeline) const override {
    constexpr std::size_t most_bytes = std::size_t{2} << 30;  // protobuf's own limit
    const std::string text = TRY(stream.read_all(most_bytes));
    WireReader reader(text);
    for (WireField field; reader.next(field);) {
      if (field.number != 1) continue;
      const Plane plane = plane_of(field.bytes);
      if (!plane.name.starts_with(gpu_prefix)) continue;
      std::string_view device = plane.name.substr(gpu_prefix.size());
      device = device.substr(0, device.find_first_not_of("0123456789"));
      WireReader parts(field.bytes);
      for (WireField line; parts.next(line);) {
        if (line.number == 3 && !read_line(line.bytes, plane, device, timeline)) return {};
      }
    }
    if (reader.is_damaged()) timeline.note(fmt::format("{} is cut off or damaged", stream.name()));
    return {};
  }
};

const Reader xplane_reader;
const TraceReaderRegistry::Add registered{&xplane_reader};

}  // namespace
}  // namespace assay::xplane
