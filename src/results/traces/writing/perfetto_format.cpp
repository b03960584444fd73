// Perfetto's protobuf: a file is a list of packets. Names, categories and keys are written once for
// each sequence of packets, and a rank is one sequence. The numbers are those of Perfetto's
// protos/perfetto/trace/*.proto.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/wire.h"
#include "results/traces/writing/formats.h"
#include "results/traces/writing/trace_writer.h"

namespace assay {
namespace {

constexpr std::uint32_t packet_field = 1;
// TracePacket
constexpr std::uint32_t clock_snapshot = 6, timestamp = 8, sequence_id = 10, track_event = 11,
                        interned_data = 12, sequence_flags = 13, track_descriptor = 60;
constexpr std::uint64_t cleared = 1, needs_state = 2;
// TrackEvent
constexpr std::uint32_t categories = 3, annotation = 4, type = 9, name_id = 10, track = 11,
                        event_name = 23, real_counter = 44, flows = 47;
constexpr std::uint64_t slice_begins = 1, slice_ends = 2, instant = 3, counts = 4;

const char* perfetto_category(TraceEventKind kind) {
  switch (kind) {
    case TraceEventKind::kernel:
    case TraceEventKind::graph:
      return "kernel";
    case TraceEventKind::copy:
      return "gpu_memcpy";
    case TraceEventKind::fill:
      return "gpu_memset";
    case TraceEventKind::call:
      return "cuda_runtime";
    case TraceEventKind::operation:
      return "cpu_op";
    case TraceEventKind::annotation:
      return "user_annotation";
    case TraceEventKind::gpu_annotation:
      break;
  }
  return "gpu_user_annotation";
}

class PerfettoPart {
 public:
  PerfettoPart(const Timeline& timeline, int rank, std::int64_t shift)
      : timeline_(timeline),
        rank_(static_cast<std::uint64_t>(rank)),
        shift_(shift),
        next_track_(1 + static_cast<std::uint64_t>(rank) * 2 * most_rows_of_rank) {
    name_ids_.resize(timeline.text_count());
  }

  std::string write() {
    std::string first;
    WireWriter(first).integer(sequence_flags, cleared);
    add_packet(first);
    std::map<std::string, std::uint64_t> owners;
    for (const TraceRow& row : nested_rows(timeline_)) {
      const TraceLane& lane = timeline_.lane(row.lane);
      const std::string process(timeline_.text(lane.process));
      const std::string owner = lane.gpu ? "GPU " + process : process;
      auto [at, is_new] = owners.try_emplace(owner);
      if (is_new) at->second = add_track(owner, 0, "");
      write_row(row,
                add_track(fmt::format("{}{}", timeline_.text(lane.thread),
                                      row.number > 0 ? fmt::format(" ({})", row.number + 1) : ""),
                          at->second, ""));
    }
    write_counters();
    write_devices();
    write_notes();
    return std::move(bytes_);
  }

 private:
  void add_packet(std::string& packet) {
    WireWriter(packet).integer(sequence_id, rank_ + 1);
    WireWriter(bytes_).bytes(packet_field, packet);
    packet.clear();
  }

  std::uint64_t add_track(const std::string& name, std::uint64_t parent, std::string_view unit) {
    const std::uint64_t number = next_track_++;
    std::string track_bytes, packet;
    WireWriter out(track_bytes);
    out.integer(1, number);
    out.bytes(2, name);
    if (parent != 0) out.integer(5, parent);
    if (!unit.empty()) {
      std::string counter;
      WireWriter(counter).bytes(6, unit);  // unit_name
      out.bytes(8, counter);
    }
    WireWriter(packet).bytes(track_descriptor, track_bytes);
    add_packet(packet);
    return number;
  }

  /// Returns the number of a name, key or category; the first time adds it to `fresh`.
  template <typename Key>
  std::uint64_t interned(std::map<Key, std::uint64_t>& known, const Key& key, std::string_view text,
                         std::uint32_t field, std::string& fresh) {
    const auto [at, is_new] = known.emplace(key, known.size() + 1);
    if (is_new) add_entry(field, at->second, text, fresh);
    return at->second;
  }
  static void add_entry(std::uint32_t field, std::uint64_t number, std::string_view text,
                        std::string& fresh) {
    std::string entry;
    WireWriter out(entry);
    out.integer(1, number);
    out.bytes(2, text);
    WireWriter(fresh).bytes(field, entry);
  }

  /// `integers`, `reals` and `texts` of an event.
  class Annotations {
   public:
    Annotations(PerfettoPart& part, std::string& event, std::string& fresh)
        : part_(part), event_(event), fresh_(fresh) {}
    void integer(const char* key, std::uint64_t value) {
      if (value > 0) add(key, [&](WireWriter& out) { out.integer(3, value); });
    }
    void real(const char* key, double value) {
      add(key, [&](WireWriter& out) { out.real(5, value); });
    }
    void text(const char* key, TextId id) {
      if (id == 0) return;
      text(key, part_.timeline_.text(id));
    }
    void text(const char* key, std::string_view text) {
      add(key, [&](WireWriter& out) { out.bytes(6, text); });
    }

   private:
    template <typename Value>
    void add(const char* key, const Value& value) {
      one_.clear();
      WireWriter out(one_);
      out.integer(1, part_.interned(part_.keys_, std::string_view(key), key, 3, fresh_));
      value(out);
      WireWriter(event_).bytes(annotation, one_);
    }
    PerfettoPart& part_;
    std::string &event_, &fresh_;
    std::string one_;
  };

  void add_details(const TraceEvent& event, std::string& bytes, std::string& fresh) {
    Annotations out(*this, bytes, fresh);
    const EventDetail& detail = timeline_.detail(event.detail);
    const auto seconds = static_cast<double>(event.duration) * 1e-9;
    if (event.correlation != no_number) out.integer("correlation", id_of(event));
    out.integer("bytes", detail.bytes);
    out.integer("flops", detail.flops);
    out.text("Collective name", detail.collective);
    out.text("dtype", detail.data_type);
    out.integer("In msg nelems", detail.elements_in);
    out.integer("Out msg nelems", detail.elements_out);
    out.integer("Group size", detail.group_size);
    out.text("Process Group Name", detail.group);
    out.text("Input Dims", detail.shapes);
    out.text("Input type", detail.types);
    out.integer("grid x", detail.grid[0]);
    out.integer("grid y", detail.grid[1]);
    out.integer("grid z", detail.grid[2]);
    out.integer("block x", detail.block[0]);
    out.integer("block y", detail.block[1]);
    out.integer("block z", detail.block[2]);
    if (event.duration <= 0) return;
    if (detail.bus_bytes > 0) {
      out.real("bus GB/s", static_cast<double>(detail.bus_bytes) / seconds * 1e-9);
    }
    if (detail.flops > 0) {
      out.real("TFLOP/s", static_cast<double>(detail.flops) / seconds * 1e-12);
    }
    if (detail.least > 0) {
      out.real("share of roof",
               static_cast<double>(detail.least) / static_cast<double>(event.duration));
    }
  }

  std::uint64_t id_of(const TraceEvent& event) const { return rank_ << 40 | event.correlation; }

  void add_event(std::int64_t time, const std::string& event, const std::string& fresh) {
    packet_.clear();
    WireWriter out(packet_);
    out.integer(timestamp, static_cast<std::uint64_t>(std::max<std::int64_t>(time + shift_, 0)));
    if (!fresh.empty()) out.bytes(interned_data, fresh);
    out.bytes(track_event, event);
    out.integer(sequence_flags, needs_state);
    add_packet(packet_);
  }

  void write_row(const TraceRow& row, std::uint64_t number) {
    std::vector<std::int64_t> open;
    std::string event, fresh;
    const auto close = [&](std::int64_t until) {
      for (; !open.empty() && open.back() <= until; open.pop_back()) {
        event.clear();
        WireWriter out(event);
        out.integer(type, slice_ends);
        out.integer(track, number);
        add_event(open.back(), event, "");
      }
    };
    for (const TraceEvent* one : row.events) {
      close(one->start);
      event.clear();
      fresh.clear();
      WireWriter out(event);
      out.integer(type, slice_begins);
      out.integer(track, number);
      std::uint64_t& id = name_ids_[one->name];
      if (id == 0) {
        id = ++names_;
        add_entry(2, id, timeline_.text(one->name), fresh);
      }
      out.integer(name_id, id);
      const char* const category = perfetto_category(one->kind);
      out.integer(categories, interned(categories_, one->kind, category, 1, fresh));
      const bool flows_here = one->kind == TraceEventKind::call || is_gpu_work(one->kind);
      if (one->correlation != no_number && flows_here) out.fixed(flows, id_of(*one));
      add_details(*one, event, fresh);
      add_event(one->start, event, fresh);
      open.push_back(one->end());
    }
    close(INT64_MAX);
  }

  void write_counters() {
    if (timeline_.counters.empty()) return;
    const std::uint64_t parent = add_track(fmt::format("telemetry of rank {}", rank_), 0, "");
    for (const TraceCounter& counter : timeline_.counters) {
      const std::uint64_t number = add_track(counter.name, parent, counter.unit);
      for (const auto& [time, value] : counter.values) {
        std::string event;
        WireWriter out(event);
        out.integer(type, counts);
        out.integer(track, number);
        out.real(real_counter, value);
        add_event(time, event, "");
      }
    }
  }

  std::string instant_of(std::uint64_t number, std::string_view name) {
    std::string event;
    WireWriter out(event);
    out.integer(type, instant);
    out.integer(track, number);
    out.bytes(event_name, name);
    return event;
  }

  /// GPUs and notes are instants on tracks of their own.
  void write_devices() {
    if (timeline_.devices.empty() || timeline_.events().empty()) return;
    const std::uint64_t number = add_track("assay's GPUs", 0, "");
    for (const auto& [name, device] : timeline_.devices) {
      std::string event = instant_of(number, device.name), fresh;
      Annotations out(*this, event, fresh);
      out.text("agent", name);
      out.integer("units", device.units);
      add_event(timeline_.events().front().start, event, fresh);
    }
  }
  void write_notes() {
    if (timeline_.notes().empty() || timeline_.events().empty()) return;
    const std::uint64_t number = add_track("assay's notes", 0, "");
    for (const std::string& note : timeline_.notes()) {
      add_event(timeline_.events().front().start, instant_of(number, note), "");
    }
  }

  const Timeline& timeline_;
  const std::uint64_t rank_;
  const std::int64_t shift_;
  std::uint64_t next_track_, names_ = 0;
  std::vector<std::uint64_t> name_ids_;
  std::map<TraceEventKind, std::uint64_t> categories_;
  std::map<std::string_view, std::uint64_t> keys_;
  std::string bytes_, packet_;
};

}  // namespace

std::string perfetto_part(const Timeline& timeline, int rank, std::int64_t shift) {
  return PerfettoPart(timeline, rank, shift).write();
}

std::string whole_perfetto(const std::vector<std::string>& parts, std::int64_t base) {
  // The times count from `base`, which is time 0 of the clock of events.
  constexpr std::uint64_t since_boot = 6, since_1970 = 1;
  const auto clock = [](std::uint64_t id, std::uint64_t time) {
    std::string bytes;
    WireWriter out(bytes);
    out.integer(1, id);
    out.integer(2, time);
    return bytes;
  };
  std::string snapshot, packet, text;
  WireWriter clocks(snapshot);
  clocks.bytes(1, clock(since_boot, 0));
  clocks.bytes(1, clock(since_1970, static_cast<std::uint64_t>(std::max<std::int64_t>(base, 0))));
  WireWriter out(packet);
  out.bytes(clock_snapshot, snapshot);
  out.integer(sequence_id, 1);
  WireWriter(text).bytes(packet_field, packet);
  for (const std::string& part : parts) text += part;
  return text;
}

}  // namespace assay
