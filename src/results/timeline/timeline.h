// A timeline: what one process did when, on its host threads and its GPUs, as a profiler recorded
// it. Plain types; a large trace has millions of events, so an event takes 48 bytes and its texts
// and details are stored once.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace assay {

/// A text of a timeline's pool; 0 is the empty text.
using TextId = std::uint32_t;
using LaneId = std::uint32_t;

enum class TraceEventKind : std::uint8_t {
  kernel,          ///< a kernel on a GPU
  copy,            ///< a copy that a GPU made
  fill,            ///< a memset that a GPU made
  graph,           ///< a whole graph on a GPU, whose kernels were not recorded
  call,            ///< a call of the runtime or the driver on the host
  operation,       ///< an operation of a framework on the host
  annotation,      ///< a range that the program named, such as a step
  gpu_annotation,  ///< the range on a GPU that an annotation caused; it is no work of its own
};

/// Returns whether the event is work of a GPU.
constexpr bool is_gpu_work(TraceEventKind kind) {
  return kind <= TraceEventKind::graph;
}

/// Marks a correlation or an external number that the event does not have.
constexpr std::uint64_t no_number = UINT64_MAX;

struct TraceEvent {
  std::int64_t start = 0;                 ///< ns on the trace's clock
  std::int64_t duration = 0;              ///< ns, not negative
  std::uint64_t correlation = no_number;  ///< joins a call and the work it launched
  std::uint64_t external = no_number;     ///< joins a kernel and the operation it is part of
  TextId name = 0;
  LaneId lane = 0;
  std::uint32_t detail = 0;  ///< of Timeline::detail()
  TraceEventKind kind = TraceEventKind::kernel;

  std::int64_t end() const { return start + duration; }
};

/// What else is known of an event. A field that the trace does not have is 0.
struct EventDetail {
  std::array<std::uint32_t, 3> grid{}, block{};     ///< as the profiler counts them
  std::uint64_t bytes = 0;                          ///< of a copy
  std::uint64_t elements_in = 0, elements_out = 0;  ///< of a collective, on this rank
  std::uint32_t group_size = 0;                     ///< ranks of a collective
  TextId collective = 0, data_type = 0, group = 0;
  TextId shapes = 0;            ///< of an operation or its kernel: "[[64,128],[128,32]]"
  TextId types = 0;             ///< of an operation or its kernel: "[c10::BFloat16,float]"
  std::uint64_t flops = 0;      ///< that it computes
  std::uint64_t bus_bytes = 0;  ///< of a collective: over its time they are its bus bandwidth
  std::uint64_t least = 0;      ///< ns that it takes at the device's peak rates
  auto operator<=>(const EventDetail&) const = default;
};

/// A host thread, or a stream or a queue of a GPU.
struct TraceLane {
  TextId process = 0;  ///< a host process, or the name of the GPU in the trace, such as "0"
  TextId thread = 0;
  bool gpu = false;
  auto operator<=>(const TraceLane&) const = default;
};

/// Values over time, such as the power of a GPU.
struct TraceCounter {
  std::string name, unit;                               ///< "gpu0.power", "W"
  std::vector<std::pair<std::int64_t, double>> values;  ///< by time in ns
};

/// What a trace says of its GPU.
struct TraceDevice {
  std::string name;    ///< "AMD Instinct MI300X"; may be empty
  unsigned units = 0;  ///< compute units or multiprocessors; 0: unknown
};

/// Limit of the bytes of all timelines of a command.
constexpr std::size_t most_bytes_of_all = std::size_t{8} << 30;

class Timeline {
 public:
  Timeline() { text_id(""); }
  Timeline(Timeline&&) = default;
  Timeline& operator=(Timeline&&) = default;

  TextId text_id(std::string_view text);
  std::string_view text(TextId id) const { return texts_[id]; }
  std::size_t text_count() const { return texts_.size(); }

  LaneId lane_id(const TraceLane& lane);
  const TraceLane& lane(LaneId id) const { return lanes_[id]; }
  const std::vector<TraceLane>& lanes() const { return lanes_; }

  /// Returns 0 for a detail without any field.
  std::uint32_t detail_id(const EventDetail& detail);
  const EventDetail& detail(std::uint32_t id) const { return details_[id]; }

  void add(const TraceEvent& event) { events_.push_back(event); }
  /// Sets the event's times and adds it. What is impossible is noted and left out, or becomes 0 if
  /// it is a negative duration. Returns false if there is no room for further events.
  bool add(TraceEvent event, std::optional<std::int64_t> start, std::optional<std::int64_t> end);
  const std::deque<TraceEvent>& events() const { return events_; }

  /// Returns whether there is no room for further events, and notes why.
  bool is_full();
  /// Adds a sentence about what could not be read or is doubtful. `count` sentences with the same
  /// words become one. Sentences are cut after 1,000 bytes; of other sentences than the first 1,000
  /// only the number is kept.
  void note(std::string_view sentence, std::size_t count = 1);
  /// Returns the sentences, each with its count if that is above 1.
  std::vector<std::string> notes() const;

  /// Bytes that the timeline takes, without the allocator's overhead.
  std::size_t bytes() const { return events_.size() * sizeof(TraceEvent) + pool_bytes_; }
  /// Lets add() refuse events once the timeline takes this many bytes.
  void limit_bytes(std::size_t most) { most_bytes_ = most; }

  std::string file;    ///< the first file, as the user named it
  std::string format;  ///< the reader's name
  std::optional<int> rank, world_size;
  std::map<std::string, TraceDevice> devices;  ///< by the names of TraceLane::process
  std::int64_t epoch = 0;                      ///< ns since 1970 of the trace's time 0; 0: unknown
  bool grid_in_work_items = false;  ///< grids of all kernels count work-items, not blocks
  /// assay recorded it: between steps its recorder reads their times, which is no idle time of the
  /// program.
  bool is_own = false;
  std::vector<TraceCounter> counters;  ///< of a recorder; readers do not fill them

 private:
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, TextId> text_ids_;
  std::vector<TraceLane> lanes_;
  std::map<TraceLane, LaneId> lane_ids_;
  std::deque<EventDetail> details_{EventDetail()};
  std::map<EventDetail, std::uint32_t> detail_ids_{{EventDetail(), 0}};
  std::deque<TraceEvent> events_;
  std::size_t pool_bytes_ = 0, most_bytes_ = most_bytes_of_all;
  std::map<std::string, std::size_t> notes_;
};

/// Limit of the events of one timeline, which take about 110 bytes each.
constexpr std::size_t most_trace_events = 40'000'000;

/// Returns a correlation that those of other processes in the same file do not equal. Processes are
/// numbered from 0.
std::uint64_t number_in_process(std::uint64_t process, std::uint64_t number);
/// Returns the name of a lane: "3", and "3 of process 2" if the process is not the first.
std::string text_in_process(std::uint64_t process, std::string_view text);
/// Returns the name of a lane of copies whose stream may be unknown: "copy", "copy 3". Copies of
/// several streams may share the former, so that they may overlap.
std::string copy_lane(std::string_view stream);
constexpr std::string_view copies_of_all_streams = "copy";

/// Converts decimal text to an integer: "12.345" with `exponent` 3 is 12345. More digits are
/// rounded, halves to the even neighbour. Empty if it is not a number or beyond `longest_time`.
std::optional<std::int64_t> decimal_time(std::string_view text, int exponent);

/// The latest time and the longest duration, 126 years in ns. Neither sums of two of them nor
/// differences of two times overflow.
constexpr std::int64_t longest_time = 4'000'000'000'000'000'000;

}  // namespace assay
