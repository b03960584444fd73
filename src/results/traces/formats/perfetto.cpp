// Perfetto's protobuf, as rocprofv3 (-f pftrace), rocprof-sys and others write it: track events.
// rocprofv3 moves the ends of overlapping kernels to their middle, so its other formats are better.
#include <fmt/format.h>

#include <map>
#include <unordered_map>

#include "core/shown_text.h"
#include "core/wire.h"
#include "results/traces/trace_reader.h"

namespace assay::perfetto {
namespace {

struct Track {
  std::uint64_t parent = 0;
  std::string name;
};

/// Texts of a sequence of packets, by number.
struct Interned {
  std::unordered_map<std::uint64_t, std::string> categories, names, keys, values;
  std::size_t bytes = 0;  // of all of them
};

/// A clock of a sequence. Times of an incremental one are differences to the time before.
struct Clock {
  std::uint64_t last = 0;  // ns
  std::uint64_t unit = 1;  // ns
  bool incremental = false;
};

/// What packets of a sequence leave out because earlier ones said it.
struct Sequence {
  Interned texts;
  static constexpr std::uint64_t boot_time = 6;
  std::uint64_t epoch = 0;  // ns since 1970 of the last snapshot
  std::uint64_t clock = boot_time, track = 0;
  std::unordered_map<std::uint64_t, Clock> clocks;

  /// Forgets all but the clocks.
  void clear() {
    texts = {};
    clock = boot_time;
    track = 0;
  }
  void set_defaults(std::string_view bytes);
  void set_clocks(std::string_view snapshot);
  /// Returns the time in ns of a packet with this value of a clock.
  std::uint64_t time_of(std::uint64_t id, std::uint64_t value) {
    const auto at = clocks.find(id);
    if (at == clocks.end()) return value;
    const std::uint64_t time = value * at->second.unit;
    if (!at->second.incremental) return time;
    at->second.last += time;
    return at->second.last;
  }
};

void Sequence::set_defaults(std::string_view bytes) {
  WireReader reader(bytes);
  for (WireField field; reader.next(field);) {
    if (field.number == 58) clock = field.integer;
    if (field.number != 11) continue;
    WireReader event(field.bytes);
    for (WireField part; event.next(part);) {
      if (part.number == 11) track = part.integer;
    }
  }
}

void Sequence::set_clocks(std::string_view snapshot) {
  WireReader reader(snapshot);
  for (WireField field; reader.next(field);) {
    if (field.number != 1) continue;
    std::uint64_t id = 0;
    Clock found;
    WireReader parts(field.bytes);
    for (WireField part; parts.next(part);) {
      if (part.number == 1) id = part.integer;
      if (part.number == 2) found.last = part.integer;
      if (part.number == 3) found.incremental = part.integer != 0;
      if (part.number == 4 && part.integer != 0) found.unit = part.integer;
    }
    found.last *= found.unit;
    constexpr std::uint64_t since_1970 = 1;
    if (id == since_1970) epoch = found.last;
    constexpr std::uint64_t first_global = 128;  // of clocks that programs define
    if (id < first_global) clocks[id] = found;
  }
}

/// What a track event says, as far as it is used.
struct Slice {
  std::uint64_t type = 0, track = 0, flow = no_number;
  std::string name, category, agent;
  std::uint64_t correlation = no_number;
  std::uint64_t units = 0;  // of a GPU that assay names
  EventDetail detail;
};

/// Where the numbers and texts of assay's own traces belong.
struct NumberKey {
  std::string_view key;
  std::uint64_t EventDetail::*field;
};
constexpr NumberKey number_keys[] = {{"bytes", &EventDetail::bytes},
                                     {"In msg nelems", &EventDetail::elements_in},
                                     {"Out msg nelems", &EventDetail::elements_out}};
struct TextKey {
  std::string_view key;
  TextId EventDetail::*field;
};
constexpr TextKey text_keys[] = {{"Collective name", &EventDetail::collective},
                                 {"dtype", &EventDetail::data_type},
                                 {"Process Group Name", &EventDetail::group},
                                 {"Input Dims", &EventDetail::shapes},
                                 {"Input type", &EventDetail::types}};

struct Open {
  TraceEvent event;
  bool used = false;
};

/// Adds a text, unless those of all sequences would take more than 256 MiB. `total`: of them.
bool intern(std::string_view bytes, Interned& all, std::size_t& total,
            std::unordered_map<std::uint64_t, std::string>& texts) {
  std::uint64_t number = 0;
  std::string_view text;
  WireReader reader(bytes);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) number = field.integer;
    if (field.number == 2) text = field.bytes;
  }
  constexpr std::size_t most_bytes = std::size_t{256} << 20, entry = 64;
  if (total + text.size() + entry > most_bytes) return false;
  all.bytes += text.size() + entry;
  total += text.size() + entry;
  texts[number] = text;
  return true;
}

class Packets {
 public:
  explicit Packets(Timeline& timeline) : timeline_(timeline) {}

  /// Returns false if there is no room for further events.
  bool add(std::string_view packet) {
    // Texts of annotations take room, too, without any event.
    if (timeline_.is_full()) return false;
    std::optional<std::uint64_t> time, clock;
    std::uint64_t number = 0, flags = 0;
    std::string_view event, interned, track, defaults, snapshot;
    WireReader reader(packet);
    for (WireField field; reader.next(field);) {
      if (field.number == 8) time = field.integer;
      if (field.number == 58) clock = field.integer;
      if (field.number == 6) snapshot = field.bytes;
      if (field.number == 59) defaults = field.bytes;
      if (field.number == 10) number = field.integer;
      if (field.number == 13) flags = field.integer;
      if (field.number == 12) interned = field.bytes;
      if (field.number == 60) track = field.bytes;
      if (field.number == 11) event = field.bytes;
      if (field.number == 42) timeline_.note("the recorder lost packets before some of the events");
      if (field.number == 50 || field.number == 133) {
        timeline_.note("compressed packets were not read");
      }
    }
    constexpr std::size_t most_sequences = 100'000;
    if (sequences_.size() > most_sequences) {
      timeline_.note("more than 100,000 sequences of packets; the rest was not read");
      return false;
    }
    Sequence& sequence = sequences_[number];
    if ((flags & 1) != 0) {
      interned_bytes_ -= sequence.texts.bytes;
      sequence.clear();
    }
    sequence.set_defaults(defaults);
    sequence.set_clocks(snapshot);
    const auto boot = sequence.clocks.find(Sequence::boot_time);
    if (!snapshot.empty() && boot != sequence.clocks.end() && sequence.epoch > boot->second.last &&
        sequence.epoch <= static_cast<std::uint64_t>(longest_time)) {
      timeline_.epoch = static_cast<std::int64_t>(sequence.epoch - boot->second.last);
    }
    Interned& texts = sequence.texts;
    WireReader entries(interned);
    for (WireField field; entries.next(field);) {
      bool fits = true;
      if (field.number == 1) fits = intern(field.bytes, texts, interned_bytes_, texts.categories);
      if (field.number == 2) fits = intern(field.bytes, texts, interned_bytes_, texts.names);
      if (field.number == 3) fits = intern(field.bytes, texts, interned_bytes_, texts.keys);
      if (field.number == 29) fits = intern(field.bytes, texts, interned_bytes_, texts.values);
      if (!fits) timeline_.note("the packets name more than 256 MiB of texts; the rest is missing");
    }
    if (!track.empty()) add_track(track);
    // A snapshot says what its clocks show and moves none of them.
    if (!time || !snapshot.empty()) return true;
    const std::uint64_t ns = sequence.time_of(clock.value_or(sequence.clock), *time);
    return event.empty() || use(slice_of(event, sequence), ns);
  }

  void finish() {
    std::size_t open = 0;
    for (const auto& [track, slices] : open_) open += slices.size();
    timeline_.note("an event begins and does not end", open);
  }

 private:
  void add_track(std::string_view bytes) {
    std::uint64_t number = 0;
    Track track;
    WireReader reader(bytes);
    for (WireField field; reader.next(field);) {
      if (field.number == 1) number = field.integer;
      if (field.number == 5) track.parent = field.integer;
      if (field.number == 2 || field.number == 10) track.name = field.bytes;
      if (field.number != 3 && field.number != 4) continue;
      // A process has its name in field 6, a thread in field 5.
      WireReader owner(field.bytes);
      for (WireField part; owner.next(part);) {
        if (part.number == (field.number == 3 ? 6U : 5U) && track.name.empty()) {
          track.name = part.bytes;
        }
      }
    }
    constexpr std::size_t most_tracks = 1'000'000, longest_name = 1000;
    if (track.name.size() > longest_name) track.name.resize(longest_name);
    if (tracks_.size() < most_tracks || tracks_.count(number) > 0) {
      tracks_[number] = std::move(track);
    } else {
      timeline_.note("more than a million tracks are named; the others have no names");
    }
  }

  Slice slice_of(std::string_view bytes, const Sequence& sequence) {
    const Interned& texts = sequence.texts;
    Slice slice;
    slice.track = sequence.track;
    const auto text = [](const auto& map, std::uint64_t number) {
      const auto at = map.find(number);
      return at == map.end() ? std::string() : at->second;
    };
    WireReader reader(bytes);
    for (WireField field; reader.next(field);) {
      if (field.number == 9) slice.type = field.integer;
      if (field.number == 11) slice.track = field.integer;
      if (field.number == 23) slice.name = field.bytes;
      if (field.number == 10) slice.name = text(texts.names, field.integer);
      if (field.number == 22) slice.category = field.bytes;
      if (field.number == 3) slice.category = text(texts.categories, field.integer);
      if (field.number == 47 || field.number == 48) slice.flow = field.integer;
      if (field.number == 4) read_annotation(field.bytes, texts, slice);
    }
    return slice;
  }

  void read_annotation(std::string_view bytes, const Interned& texts, Slice& slice) {
    std::string key, value;
    std::uint64_t number = no_number;
    WireReader reader(bytes);
    for (WireField field; reader.next(field);) {
      if (field.number == 10) key = field.bytes;
      if (field.number == 1) {
        const auto at = texts.keys.find(field.integer);
        if (at != texts.keys.end()) key = at->second;
      }
      if (field.number == 3 || field.number == 4) number = field.integer;
      if (field.number == 6) value = field.bytes;
      if (field.number == 17) {
        const auto at = texts.values.find(field.integer);
        if (at != texts.values.end()) value = at->second;
      }
    }
    if (key == "corr_id" || key == "correlation") slice.correlation = number;
    for (const NumberKey& one : number_keys) {
      if (one.key == key && number != no_number) slice.detail.*one.field = number;
    }
    for (const TextKey& one : text_keys) {
      if (one.key == key) slice.detail.*one.field = timeline_.text_id(value);
    }
    constexpr std::string_view axes = "xyz";
    for (const auto& [name, three] :
         {std::pair{"grid ", &slice.detail.grid}, std::pair{"block ", &slice.detail.block}}) {
      const std::string_view prefix = name;
      if (key.size() != prefix.size() + 1 || !key.starts_with(prefix)) continue;
      const std::size_t axis = axes.find(key.back());
      if (axis != axes.npos && number <= UINT32_MAX) {
        (*three)[axis] = static_cast<std::uint32_t>(number);
      }
    }
    if (key == "Group size" && number <= UINT32_MAX) {
      slice.detail.group_size = static_cast<std::uint32_t>(number);
    }
    if (key == "units") slice.units = number;
    if (key == "agent") slice.agent = value.empty() ? std::to_string(number) : value;
  }

  /// Returns the GPU that a track belongs to: "2" for a track below one named "GPU 2", and what is
  /// in brackets for rocprofv3's "COMPUTE AGENT [2] ..". Empty: none.
  std::string device_of(std::uint64_t number) const {
    const auto at = tracks_.find(number);
    if (at == tracks_.end()) return {};
    for (const std::string& name : {at->second.name, parent_name(at->second)}) {
      constexpr std::string_view gpu = "GPU ";
      if (name.starts_with(gpu)) return name.substr(gpu.size());
      if (name.find("COMPUTE") == name.npos && name.find("COPY") == name.npos) continue;
      const std::size_t open = name.find('['), close = name.find(']', open);
      if (close != name.npos) return name.substr(open + 1, close - open - 1);
    }
    return {};
  }
  /// Returns the name of the track that a host's track is below, such as that of its process.
  std::string host_of(std::uint64_t number) const {
    const auto at = tracks_.find(number);
    return at == tracks_.end() ? std::string() : parent_name(at->second);
  }
  std::string parent_name(const Track& track) const { return track_name(track.parent); }
  std::string track_name(std::uint64_t number) const {
    const auto at = tracks_.find(number);
    return at == tracks_.end() ? std::string() : at->second.name;
  }

  bool use(const Slice& slice, std::uint64_t time) {
    constexpr std::uint64_t begin = 1, end = 2;
    const auto at = time > static_cast<std::uint64_t>(longest_time)
                        ? std::nullopt
                        : std::optional(static_cast<std::int64_t>(time));
    if (slice.type == begin) {
      constexpr std::size_t most_open = 1'000'000;
      if (open_count_ == most_open) {
        timeline_.note(
            "more than a million events began that do not end, so the rest was not read");
        return false;
      }
      ++open_count_;
      auto& open = open_[slice.track];
      open.push_back({event_of(slice), at.has_value()});
      open.back().event.start = at.value_or(0);
      return true;
    }
    constexpr std::uint64_t instant = 3;
    const std::string track = slice.type == instant ? track_name(slice.track) : std::string();
    if (track == "assay's notes") {
      timeline_.note(slice.name);
      timeline_.is_own = true;
    }
    constexpr std::size_t most_devices = 1024, longest_name = 200;
    if (track == "assay's GPUs" && timeline_.devices.size() < most_devices) {
      timeline_.devices[shown_line(slice.agent, longest_name)] = {
          shown_line(slice.name, longest_name),
          slice.units <= UINT32_MAX ? static_cast<unsigned>(slice.units) : 0};
    }
    if (slice.type != end) return true;
    const auto open = open_.find(slice.track);
    if (open == open_.end()) {
      timeline_.note("an event ends that did not begin");
      return true;
    }
    const Open last = open->second.back();
    open->second.pop_back();
    if (open->second.empty()) open_.erase(open);
    --open_count_;
    return timeline_.add(last.event, last.used ? std::optional(last.event.start) : std::nullopt,
                         at);
  }

  TraceEvent event_of(const Slice& slice) {
    TraceEvent event;
    const std::string device = device_of(slice.track);
    const std::string_view category = slice.category;
    event.name = timeline_.text_id(slice.name);
    event.correlation = slice.correlation != no_number ? slice.correlation : slice.flow;
    if (device.empty()) {
      const bool calls = category.find("api") != category.npos || category.starts_with("cuda_") ||
                         slice.flow != no_number;
      event.kind = calls ? TraceEventKind::call : TraceEventKind::annotation;
    } else if (category.find("annotation") != category.npos) {
      event.kind = TraceEventKind::gpu_annotation;
    } else if (category.find("memset") != category.npos) {
      event.kind = TraceEventKind::fill;
    } else {
      const bool copies =
          category.find("copy") != category.npos || category.find("memcpy") != category.npos;
      event.kind = copies ? TraceEventKind::copy : TraceEventKind::kernel;
    }
    event.detail = timeline_.detail_id(slice.detail);
    event.lane =
        timeline_.lane_id({timeline_.text_id(device.empty() ? host_of(slice.track) : device),
                           timeline_.text_id(std::to_string(slice.track)), !device.empty()});
    return event;
  }

  Timeline& timeline_;
  std::unordered_map<std::uint64_t, Track> tracks_;
  std::unordered_map<std::uint64_t, Sequence> sequences_;
  std::unordered_map<std::uint64_t, std::vector<Open>> open_;
  std::size_t open_count_ = 0, interned_bytes_ = 0;
};

class Reader : public TraceReader {
 public:
  std::string_view name() const override { return "perfetto"; }
  std::string_view summary() const override { return "Perfetto's protobuf, rocprofv3 -f pftrace"; }
  bool recognises(std::string_view start) const override {
    // A file is a list of packets; the first one names its sequence (field 10) or a clock.
    WireReader reader(start);
    WireField field;
    if (!start.starts_with('\x0a') || !reader.next(field) || field.number != 1) return false;
    bool sequence = false;
    WireReader packet(field.bytes);
    for (WireField part; packet.next(part);) sequence = sequence || part.number == 10;
    return sequence && !packet.is_damaged();
  }
  Status read(TraceStream& stream, Timeline& timeline) const override {
    constexpr std::size_t longest_packet = std::size_t{64} << 20;
    Packets packets(timeline);
    std::string part;
    for (;;) {
      const std::string_view more = stream.read();
      part.append(more);
      // Only whole packets are used; the last one may go on in the next part.
      std::string_view rest = part;
      for (WireField field; !rest.empty();) {
        WireReader reader(rest);
        if (!reader.next(field)) break;
        const std::size_t left = reader.left();
        rest.remove_prefix(rest.size() - left);
        if (field.number == 1 && !packets.add(field.bytes)) return {};
      }
      part.erase(0, part.size() - rest.size());
      if (!more.empty() && part.size() <= longest_packet) continue;
      if (!part.empty()) timeline.note(fmt::format("{} is cut off or damaged", stream.name()));
      packets.finish();
      return {};
    }
  }
};

const Reader perfetto_reader;
const TraceReaderRegistry::Add registered{&perfetto_reader};

}  // namespace
}  // namespace assay::perfetto
