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
/// A lane of a timeline, Timeline::lane().
using LaneId = std::uint32_t;

enum class TraceEventKind : std::uint8_t {
  kernel,          ///< a kernel on a GPU
  copy,            ///< a copy that a GPU made
  fill,            ///< a memset that a GPU made
  graph,           ///< a whole CUDA or HIP graph on a GPU, whose kernels were not recorded
  call,            ///< a call of the runtime or the driver on the host
  operation,       ///< an operation of a framework on the host
  annotation,      ///< a range that the program named, such as a step
  gpu_annotation,  ///< from the first to the last GPU work inside an annotation; no work itself
};

/// Returns whether the event is work of a GPU.
constexpr bool is_gpu_work(TraceEventKind kind) {
  return kind <= TraceEventKind::graph;
}

/// Marks that an event has no correlation or no external number.
constexpr std::uint64_t no_number = UINT64_MAX;

struct TraceEvent {
  std::int64_t start = 0;                 ///< ns on the trace's clock
  std::int64_t duration = 0;              ///< ns, not negative
  std::uint64_t correlation = no_number;  ///< joins a call and the work it launched
  std::uint64_t external = no_number;     ///< joins an operation and its calls and GPU work
  TextId name = 0;
  LaneId lane = 0;
  std::uint32_t detail = 0;  ///< number for Timeline::detail()
  TraceEventKind kind = TraceEventKind::kernel;

  std::int64_t end() const { return start + duration; }
};

/// What else is known of an event. A field that the trace does not have is 0.
struct EventDetail {
  std::array<std::uint32_t, 3> grid{}, block{};     ///< see Timeline::grid_in_work_items
  std::uint64_t bytes = 0;                          ///< of a copy
  std::uint64_t elements_in = 0, elements_out = 0;  ///< of a collective, on this rank
  std::uint32_t group_size = 0;                     ///< ranks of a collective
  TextId collective = 0;                            ///< "allreduce"
  TextId data_type = 0;     ///< of a collective's elements, in the profiler's words
  TextId group = 0;         ///< the name of a collective's process group
  TextId shapes = 0;        ///< of the inputs of an operation or a kernel: "[[64,128],[128,32]]"
  TextId types = 0;         ///< of the inputs of an operation or a kernel: "[c10::BFloat16,float]"
  std::uint64_t flops = 0;  ///< floating-point operations of an operation or a kernel
  std::uint64_t bus_bytes = 0;  ///< of a collective: divided by its time, its bus bandwidth
  std::uint64_t least = 0;      ///< ns that the event takes at the device's peak rates
  auto operator<=>(const EventDetail&) const = default;
};

/// A host thread, or a stream or a queue of a GPU.
struct TraceLane {
  TextId process = 0;  ///< a host process, or the name of the GPU in the trace, such as "0"
  TextId thread = 0;   ///< a thread, or a stream or a queue
  bool gpu = false;
  auto operator<=>(const TraceLane&) const = default;
};

/// Values over time, such as the power of a GPU.
struct TraceCounter {
  std::string name, unit;                               ///< "gpu0.power", "W"
  std::vector<std::pair<std::int64_t, double>> values;  ///< times in ns, and values
};

/// What a trace says of its GPU.
struct TraceDevice {
  std::string name;    ///< "AMD Instinct MI300X"; may be empty
  unsigned units = 0;  ///< compute units or multiprocessors; 0: unknown
};

/// Limit of the bytes that all timelines of a command may take together.
constexpr std::size_t most_bytes_of_all = std::size_t{8} << 30;

/// The events of one process, and the pools of their texts, lanes and details. Ids and references
/// stay valid as it grows; it is for one thread.
class Timeline {
 public:
  Timeline() { text_id(""); }
  Timeline(Timeline&&) = default;
  Timeline& operator=(Timeline&&) = default;

  /// Returns the id of a text, which is added to the pool if it is new.
  TextId text_id(std::string_view text);
  std::string_view text(TextId id) const { return texts_[id]; }
  std::size_t text_count() const { return texts_.size(); }

  /// Returns the id of a lane, which is added if it is new.
  LaneId lane_id(const TraceLane& lane);
  const TraceLane& lane(LaneId id) const { return lanes_[id]; }
  const std::vector<TraceLane>& lanes() const { return lanes_; }

  /// Returns 0 for a detail without any field.
  std::uint32_t detail_id(const EventDetail& detail);
  const EventDetail& detail(std::uint32_t id) const { return details_[id]; }

  void add(const TraceEvent& event) { events_.push_back(event); }
  /// Sets the event's times, in ns, and adds it. Events without possible times, and work of a GPU
  /// from 0 to 0, are left out with a note, and negative durations become 0 with a note. Returns
  /// false, without adding the event, if is_full().
  bool add(TraceEvent event, std::optional<std::int64_t> start, std::optional<std::int64_t> end);
  const std::deque<TraceEvent>& events() const { return events_; }

  /// Returns whether there is no room for further events, and notes why.
  bool is_full();
  /// Adds a sentence about what could not be read or is doubtful, `count` times. Equal sentences
  /// are counted. A sentence is cut after 1,000 bytes. Further sentences than the first 1,000
  /// different ones are only counted.
  void note(std::string_view sentence, std::size_t count = 1);
  /// Returns the sentences, each with its count if that is above 1.
  std::vector<std::string> notes() const;

  /// Bytes that the timeline takes, without the allocator's overhead.
  std::size_t bytes() const { return events_.size() * sizeof(TraceEvent) + pool_bytes_; }
  /// Lets is_full() return true once the timeline takes more than `most` bytes.
  void limit_bytes(std::size_t most) { most_bytes_ = most; }

  std::string file;                            ///< the first file, as the user named it
  std::string format;                          ///< the reader's name
  std::optional<int> rank, world_size;         ///< and number of all ranks; empty: not in the trace
  std::map<std::string, TraceDevice> devices;  ///< by the names of TraceLane::process
  std::int64_t epoch = 0;                      ///< ns since 1970 of the trace's time 0; 0: unknown
  bool grid_in_work_items = false;  ///< grids of all kernels count work-items, not blocks
  /// assay recorded it. Its recorder reads times between steps, and that does not count as idle
  /// time of the program.
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

/// Limit of the events of one timeline.
constexpr std::size_t most_trace_events = 40'000'000;

/// Returns a correlation that no other process in the same file has, made of a correlation and the
/// number of its process, from 0. It is `no_number` for correlations from 2^48 and for processes
/// from 65,535, which only a damaged file has: events without a link are better than wrong links.
std::uint64_t number_in_process(std::uint64_t process, std::uint64_t number);
/// Returns the name of a lane in process number `process`, from 0: "3", or "3 of process 2" unless
/// the process is the first.
std::string text_in_process(std::uint64_t process, std::string_view text);
/// Returns the name of a lane of copies on a stream: "copy 3", or "copy" if `stream` is empty,
/// which means unknown. Copies of several streams may share the latter and therefore overlap.
std::string copy_lane(std::string_view stream);
constexpr std::string_view copies_of_all_streams = "copy";

/// Converts decimal text, such as "-1.5e3", times 10^`exponent` to an integer: "12.345" with 3 is
/// 12345. Fractions are rounded, halves to the even neighbour. Empty if the text is not a number,
/// or the result is not within `longest_time` of 0.
std::optional<std::int64_t> decimal_time(std::string_view text, int exponent);

/// The latest time and the longest duration, 126 years in ns. Neither sums of two of them nor
/// differences of two times overflow.
constexpr std::int64_t longest_time = 4'000'000'000'000'000'000;

}  // namespace assay
