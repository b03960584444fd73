// Chrome's trace event JSON, as PyTorch's profiler (Kineto), vLLM and SGLang write it. Times are
// decimal microseconds, whatever "displayTimeUnit" says. They are converted from the text, because
// a double rounds them to about a nanosecond.
#include <algorithm>
#include <array>
#include <bitset>
#include <charconv>
#include <map>
#include <unordered_map>

#include "core/text.h"
#include "results/traces/json_stream.h"
#include "results/traces/trace_reader.h"

namespace assay::kineto {
namespace {

constexpr int microseconds = 3;  // decimal places between them and the timeline's nanoseconds

/// What an event and its "args" may hold, as far as it is used.
enum class Field {
  none,
  phase,
  category,
  name,
  process,
  thread,
  time,
  duration,
  id,  // of the event itself
  correlation,
  external,
  grid,
  block,
  bytes,
  collective,
  data_type,
  elements_in,
  elements_out,
  group_size,
  group,
  shapes,
  types,
  label,
  count
};

constexpr auto field_count = static_cast<std::size_t>(Field::count);

struct Key {
  std::string_view text;
  Field field;
};

constexpr Key event_keys[] = {{"ph", Field::phase},     {"cat", Field::category},
                              {"name", Field::name},    {"pid", Field::process},
                              {"tid", Field::thread},   {"ts", Field::time},
                              {"dur", Field::duration}, {"id", Field::id}};
constexpr Key args_keys[] = {{"correlation", Field::correlation},
                             {"External id", Field::external},
                             {"external id", Field::external},
                             {"grid", Field::grid},
                             {"block", Field::block},
                             {"bytes", Field::bytes},
                             {"Bytes", Field::bytes},
                             {"Collective name", Field::collective},
                             {"dtype", Field::data_type},
                             {"In msg nelems", Field::elements_in},
                             {"Out msg nelems", Field::elements_out},
                             {"Group size", Field::group_size},
                             {"Process Group Name", Field::group},
                             {"Input Dims", Field::shapes},
                             {"Input dims", Field::shapes},
                             {"Input type", Field::types},
                             {"name", Field::label}};

template <std::size_t count>
Field field_of(std::string_view key, const Key (&keys)[count]) {
  for (const Key& one : keys) {
    if (one.text == key) return one.field;
  }
  return Field::none;
}

/// Categories of complete events, in lower case, and what they are.
struct Category {
  std::string_view name;
  TraceEventKind kind;
};
constexpr Category categories[] = {{"kernel", TraceEventKind::kernel},
                                   {"gpu_memcpy", TraceEventKind::copy},
                                   {"memcpy", TraceEventKind::copy},
                                   {"gpu_memset", TraceEventKind::fill},
                                   {"memset", TraceEventKind::fill},
                                   {"cuda_runtime", TraceEventKind::call},
                                   {"cuda_driver", TraceEventKind::call},
                                   {"runtime", TraceEventKind::call},
                                   {"driver", TraceEventKind::call},
                                   {"cpu_op", TraceEventKind::operation},
                                   {"operator", TraceEventKind::operation},
                                   {"user_annotation", TraceEventKind::annotation},
                                   {"gpu_user_annotation", TraceEventKind::gpu_annotation}};

std::uint64_t number_or_none(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : no_number;
}

std::uint32_t small_number(std::uint64_t number) {
  return number > UINT32_MAX ? 0 : static_cast<std::uint32_t>(number);
}

/// Turns the parser's events into those of the timeline.
class Handler : public JsonEvents<Handler> {
 public:
  Handler(JsonLetters& letters, Timeline& timeline)
      : JsonEvents<Handler>(letters), timeline_(timeline) {}

  bool value(std::string_view text, JsonScalar kind) {
    if (kind == JsonScalar::literal) text = {};
    if (level_ == event_level_ || (in_args_ && level_ == event_level_ + 1)) {
      if (field_ == Field::none) return true;
      text_of(field_).assign(text);
      give(field_);
    } else if (captures()) {
      constexpr std::size_t longest_list = std::size_t{64} << 10;
      if (text_of(field_).size() + text.size() > longest_list) {
        timeline_.note("a list of shapes or types is longer than 64 KiB and was cut");
        return true;
      }
      append_separator();
      text_of(field_).append(text);
    } else if (level_ > 0 && level_ <= 3) {
      top_value(text);
    }
    return true;
  }
  bool key(std::string_view key) {
    if (level_ == event_level_) {
      field_ = field_of(key, event_keys);
      at_args_ = key == "args";
    } else if (in_args_ && level_ == event_level_ + 1) {
      field_ = field_of(key, args_keys);
    } else if (level_ <= 3) {
      key_ = key;
      if (level_ == 1) top_key_ = key;
    }
    return true;
  }
  bool begin_object() {
    if (!open()) return false;
    if (level_ == event_level_) {
      given_.reset();
      in_args_ = false;
    } else if (level_ == event_level_ + 1) {
      in_args_ = at_args_;
      field_ = Field::none;
    }
    if (level_ == 3 && top_key_ == "deviceProperties") device_id_.clear();
    return true;
  }
  bool end_object() {
    if (level_ == event_level_) {
      finish_event();
      if (full_) return false;
    } else if (level_ == event_level_ + 1) {
      in_args_ = false;
    }
    --level_;
    return true;
  }
  bool begin_list() {
    if (!open()) return false;
    if (level_ == 1 || (level_ == 2 && top_key_ == "traceEvents")) {
      if (event_level_ == no_level) event_level_ = level_ + 1;
    } else if (captures()) {
      if (level_ == event_level_ + 2) text_of(field_).clear();
      append_separator();
      text_of(field_) += '[';
    }
    return true;
  }
  bool end_list() {
    if (level_ + 1 == event_level_) {
      event_level_ = no_level;
    } else if (captures()) {
      text_of(field_) += ']';
      if (level_ == event_level_ + 2) give(field_);
    }
    --level_;
    return true;
  }

  const std::string& problem() const { return problem_; }
  /// Names what the file began and did not end.
  void finish() {
    std::size_t open = 0;
    for (const auto& [lane, events] : begun_) open += events.size();
    timeline_.note("an event begins (B) and does not end (E)", open);
    for (const auto& [category, count] : skipped_) {
      timeline_.note(fmt::format("events of the category \"{}\" were not used", category), count);
    }
  }
  bool found_events() const { return found_; }
  /// Returns whether reading stopped because no further event may be added.
  bool is_full() const { return full_; }

 private:
  static constexpr int no_level = 1000, most_levels = 64;

  bool open() {
    if (++level_ <= most_levels) return true;
    problem_ = fmt::format("is nested more than {} levels deep", most_levels);
    return false;
  }
  /// Whether the parser is in an array in "args" whose text is kept.
  bool captures() const {
    return in_args_ && level_ >= event_level_ + 2 &&
           (field_ == Field::grid || field_ == Field::block || field_ == Field::shapes ||
            field_ == Field::types);
  }
  std::string& text_of(Field field) { return texts_[static_cast<std::size_t>(field)]; }
  void give(Field field) { given_.set(static_cast<std::size_t>(field)); }
  void append_separator() {
    std::string& text = text_of(field_);
    if (!text.empty() && text.back() != '[') text += ',';
  }

  /// Takes a value that describes the whole trace.
  void top_value(std::string_view text) {
    if (level_ == 1 && key_ == "baseTimeNanoseconds") {
      timeline_.epoch = decimal_time(text, 0).value_or(0);
    } else if (level_ == 2 && top_key_ == "assay") {
      timeline_.note(text);
      timeline_.is_own = true;
    } else if (level_ == 2 && top_key_ == "distributedInfo") {
      const std::uint64_t number = number_or_none(text);
      if (number > 1'000'000) return;
      if (key_ == "rank") timeline_.rank = static_cast<int>(number);
      if (key_ == "world_size") timeline_.world_size = static_cast<int>(number);
    } else if (level_ == 3 && top_key_ == "deviceProperties") {
      constexpr std::size_t most_devices = 1024, longest_device_text = 200;
      text = text.substr(0, longest_device_text);
      if (key_ == "id") device_id_ = text;
      if (device_id_.empty() || timeline_.devices.size() > most_devices) return;
      TraceDevice& device = timeline_.devices[device_id_];
      if (key_ == "name") device.name = text;
      if (key_ == "numSms") device.units = small_number(number_or_none(text));
    }
  }

  bool has(Field field) const { return given_[static_cast<std::size_t>(field)]; }
  std::string_view at(Field field) const {
    return has(field) ? std::string_view(texts_[static_cast<std::size_t>(field)])
                      : std::string_view();
  }
  TextId text_at(Field field) { return timeline_.text_id(at(field)); }

  /// Returns the numbers of "[71680,1,1]".
  std::array<std::uint32_t, 3> three_at(Field field) const {
    std::array<std::uint32_t, 3> numbers{};
    std::string_view text = at(field);
    for (std::uint32_t& number : numbers) {
      text.remove_prefix(std::min(text.find_first_of("0123456789"), text.size()));
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (error != std::errc()) return {};
      text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    }
    return numbers;
  }

  LaneId lane_of(bool gpu) {
    return timeline_.lane_id({text_at(Field::process), text_at(Field::thread), gpu});
  }

  void finish_event() {
    found_ = true;
    const std::string_view phase = at(Field::phase);
    if (phase == "X") {
      complete();
    } else if (phase == "B") {
      begin();
    } else if (phase == "E") {
      end();
    }
    // Flows say nothing that correlations do not, and Kineto draws arrows from calls that launched
    // nothing. Instants, counters and names of lanes are not used.
  }

  /// Returns the kind of the event; empty if it is none of the timeline's.
  std::optional<TraceEventKind> kind() {
    constexpr std::size_t longest_category = 200;
    const std::string_view category = at(Field::category).substr(0, longest_category);
    for (const Category& one : categories) {
      if (one.name == category) return one.kind;
    }
    for (const Category& one : categories) {
      if (is_equal_without_case(one.name, category)) return one.kind;
    }
    // Python's call stacks are most of a file that has them.
    const bool expected = category == "python_function" || category == "overhead" ||
                          category == "cuda_sync" || category == "Trace" ||
                          category == "cuda_profiler_range" || category == "cpu_instant_event";
    constexpr std::size_t most_named = 20;
    if (!expected && (skipped_.size() < most_named || skipped_.count(category) > 0)) {
      auto at_category = skipped_.find(category);
      if (at_category == skipped_.end()) at_category = skipped_.emplace(category, 0).first;
      ++at_category->second;
    }
    return std::nullopt;
  }

  void set_details(TraceEvent& event) {
    if (has(Field::correlation)) event.correlation = number_or_none(at(Field::correlation));
    if (has(Field::external)) event.external = number_or_none(at(Field::external));
    EventDetail detail;
    detail.shapes = text_at(Field::shapes);  // of a kernel only in assay's own traces
    detail.types = text_at(Field::types);
    if (event.kind == TraceEventKind::call) {
      return;  // its grid is the kernel's
    }
    if (event.kind != TraceEventKind::operation) {
      detail.grid = three_at(Field::grid);
      detail.block = three_at(Field::block);
      if (has(Field::bytes)) {
        const std::uint64_t bytes = number_or_none(at(Field::bytes));
        detail.bytes = bytes == no_number ? 0 : bytes;
      }
    }
    if (has(Field::collective)) {
      const auto elements = [&](Field field) {
        const std::uint64_t number = number_or_none(at(field));
        return number == no_number ? 0 : number;
      };
      detail.collective = text_at(Field::collective);
      detail.data_type = text_at(Field::data_type);
      detail.elements_in = elements(Field::elements_in);
      detail.elements_out = elements(Field::elements_out);
      detail.group_size = small_number(number_or_none(at(Field::group_size)));
      detail.group = text_at(Field::group);
    }
    event.detail = timeline_.detail_id(detail);
  }

  /// Sets all but the duration. Returns false if the event has no usable time.
  bool fill_event(TraceEvent& event, TraceEventKind kind_of_event) {
    const auto start = decimal_time(at(Field::time), microseconds);
    if (!start) {
      timeline_.note("an event has no time or an impossible one, and was left out");
      return false;
    }
    event.start = *start;
    event.kind = kind_of_event;
    event.name = text_at(Field::name);
    event.lane =
        lane_of(is_gpu_work(kind_of_event) || kind_of_event == TraceEventKind::gpu_annotation);
    set_details(event);
    return true;
  }

  void add(const TraceEvent& event, std::int64_t duration) {
    full_ = !timeline_.add(event, event.start, event.start + duration);
  }

  void complete() {
    const auto kind_of_event = kind();
    TraceEvent event;
    if (!kind_of_event || !fill_event(event, *kind_of_event)) return;
    const auto duration = decimal_time(at(Field::duration), microseconds);
    if (!duration)
      timeline_.note("an event has no duration or an impossible one, which counts as 0");
    add(event, duration.value_or(0));
  }

  void begin() {
    TraceEvent event;
    const auto kind_of_event = kind();
    const LaneId lane = lane_of(false);
    // One of no use still has an end, which must not become that of another.
    const bool used = kind_of_event && fill_event(event, *kind_of_event);
    constexpr std::size_t most_begun = 1'000'000;
    full_ = ++begun_count_ > most_begun;
    if (full_) {
      timeline_.note("more than a million events began that do not end, so the rest was not read");
      return;
    }
    full_ = timeline_.is_full();  // names and lanes take room before the event ends
    if (full_) return;
    begun_[lane].push_back({event, used});
  }

  void end() {
    auto& events = begun_[lane_of(false)];
    if (events.empty()) {
      timeline_.note("an event ends (E) that did not begin (B)");
      full_ = timeline_.is_full();  // its lane takes room
      return;
    }
    const Begun begun = events.back();
    events.pop_back();
    --begun_count_;
    const auto time = decimal_time(at(Field::time), microseconds);
    if (begun.used && time) add(begun.event, *time - begun.event.start);
  }

  struct Begun {
    TraceEvent event;
    bool used = false;
  };

  Timeline& timeline_;
  std::array<std::string, field_count> texts_;
  std::bitset<field_count> given_;
  std::unordered_map<LaneId, std::vector<Begun>> begun_;
  std::size_t begun_count_ = 0;
  std::map<std::string, std::size_t, std::less<>> skipped_;
  std::string problem_, key_, top_key_, device_id_;
  Field field_ = Field::none;
  int level_ = 0;               // of nesting
  int event_level_ = no_level;  // of the objects that are events
  bool at_args_ = false, in_args_ = false, found_ = false, full_ = false;
};

class Reader : public TraceReader {
 public:
  std::string_view name() const override { return "kineto"; }
  std::string_view summary() const override { return "PyTorch's profiler, Chrome's JSON"; }
  bool recognises(std::string_view start) const override {
    start = trim(start);
    if (start.starts_with("\xef\xbb\xbf")) start.remove_prefix(3);
    if (start.starts_with('['))
      return start.find("\"ph\"") != start.npos || trim(start.substr(1)).starts_with(']');
    if (!start.starts_with('{')) return false;
    return start.find("\"traceEvents\"") != start.npos ||
           start.find("\"schemaVersion\"") != start.npos ||
           start.find("\"deviceProperties\"") != start.npos ||
           start.find("\"displayTimeUnit\"") != start.npos;
  }
  Status read(TraceStream& stream, Timeline& timeline) const override {
    JsonLetters letters(stream);
    Handler handler(letters, timeline);
    std::string problem = parse_json_stream(letters, handler);
    if (!handler.problem().empty()) problem = handler.problem();
    handler.finish();
    if (handler.is_full()) return {};
    if (problem.empty() && letters.more_follows()) {
      problem = "has one JSON value, after which more text follows";
    }
    return report_json_problem(stream, timeline, problem, handler.found_events());
  }
};

const Reader reader;
const TraceReaderRegistry::Add registered{&reader};

}  // namespace
}  // namespace assay::kineto
