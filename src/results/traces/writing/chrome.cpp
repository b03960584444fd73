// Chrome's trace event JSON, with the categories and arguments of PyTorch's profiler, so that its
// readers understand it. A part is one line about its devices and notes, then its events.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>

#include "core/json.h"
#include "results/traces/writing/formats.h"
#include "results/traces/writing/trace_writer.h"

namespace assay {
namespace {

constexpr std::uint64_t first_host = 1'000'000;  // processes of hosts; those of GPUs are below

struct KindName {
  const char *category, *flow;
};

KindName chrome_names(TraceEventKind kind) {
  switch (kind) {
    case TraceEventKind::kernel:
    case TraceEventKind::graph:
      return {"kernel", "f"};
    case TraceEventKind::copy:
      return {"gpu_memcpy", "f"};
    case TraceEventKind::fill:
      return {"gpu_memset", "f"};
    case TraceEventKind::call:
      return {"cuda_runtime", "s"};
    case TraceEventKind::operation:
      return {"cpu_op", ""};
    case TraceEventKind::annotation:
      return {"user_annotation", ""};
    case TraceEventKind::gpu_annotation:
      break;
  }
  return {"gpu_user_annotation", ""};
}

/// Appends JSON to a text without making values of it, because a trace has millions.
class ChromeText {
 public:
  explicit ChromeText(std::string& text) : text_(text) {}

  ChromeText& raw(std::string_view part) {
    text_ += part;
    return *this;
  }
  ChromeText& number(std::uint64_t value) {
    char digits[24];
    text_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    return *this;
  }
  ChromeText& real(double value) {
    char digits[32];
    text_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    return *this;
  }
  /// Nanoseconds as microseconds with three decimals.
  ChromeText& time(std::int64_t ns) {
    if (ns < 0) text_ += '-';
    const std::uint64_t size =
        ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
    number(size / 1000);
    const auto rest = static_cast<unsigned>(size % 1000);
    const char decimals[] = {'.', static_cast<char>('0' + rest / 100),
                             static_cast<char>('0' + rest / 10 % 10),
                             static_cast<char>('0' + rest % 10)};
    text_.append(decimals, sizeof decimals);
    return *this;
  }
  /// A text with its quotation marks.
  ChromeText& text(std::string_view value) {
    text_ += Json(std::string(value)).dump(-1, ' ', false, Json::error_handler_t::replace);
    return *this;
  }

 private:
  std::string& text_;
};

/// "[[64,128],[128,32]]" as it is; anything else as a text. "[bf16,bf16]" with quoted items.
void append_list(ChromeText& out, std::string_view list, bool of_numbers) {
  if (of_numbers && list.find_first_not_of("[],0123456789") == list.npos) {
    out.raw(list);
    return;
  }
  if (list.size() < 2 || list.front() != '[' || list.back() != ']') {
    out.text(list);
    return;
  }
  list = list.substr(1, list.size() - 2);
  out.raw("[");
  for (;;) {
    const std::size_t comma = list.find(',');
    out.text(list.substr(0, comma));
    if (comma == list.npos) break;
    out.raw(",");
    list.remove_prefix(comma + 1);
  }
  out.raw("]");
}

/// The arguments of an event but for its correlation, which all events with this detail share,
/// each with a comma before it.
std::string chrome_detail(const Timeline& timeline, const EventDetail& detail) {
  std::string text;
  ChromeText out(text);
  const auto three = [&](const char* key, const std::array<std::uint32_t, 3>& numbers) {
    if (numbers[0] == 0) return;
    out.raw(key).number(numbers[0]).raw(",").number(numbers[1]).raw(",").number(numbers[2]);
    out.raw("]");
  };
  const auto whole = [&](const char* key, std::uint64_t value) {
    if (value > 0) out.raw(key).number(value);
  };
  const auto words = [&](const char* key, TextId id) {
    if (id != 0) out.raw(key).text(timeline.text(id));
  };
  three(",\"grid\":[", detail.grid);
  three(",\"block\":[", detail.block);
  whole(",\"bytes\":", detail.bytes);
  whole(",\"flops\":", detail.flops);
  if (detail.collective != 0) {
    words(",\"Collective name\":", detail.collective);
    words(",\"dtype\":", detail.data_type);
    out.raw(",\"In msg nelems\":").number(detail.elements_in);
    out.raw(",\"Out msg nelems\":").number(detail.elements_out);
    whole(",\"Group size\":", detail.group_size);
    words(",\"Process Group Name\":", detail.group);
  }
  if (detail.shapes != 0) {
    out.raw(",\"Input Dims\":");
    append_list(out, timeline.text(detail.shapes), true);
    out.raw(",\"Input type\":");
    append_list(out, timeline.text(detail.types), false);
  }
  return text;
}

}  // namespace

std::string chrome_part(const Timeline& timeline, int rank, std::int64_t shift) {
  const auto own = static_cast<std::uint64_t>(rank);
  std::string text;
  constexpr std::size_t usual_size = 250;  // of an event
  text.reserve(usual_size * timeline.events().size());
  ChromeText out(text);
  // Processes have numbers: a GPU that of its name, anything else one that no rank shares.
  std::map<std::string, std::uint64_t, std::less<>> processes;
  const auto process_of = [&](std::string_view name, bool gpu) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (gpu && error == std::errc() && end == name.data() + name.size() && number < first_host) {
      return number;
    }
    return processes.emplace(std::string(name), first_host + own * 1000 + processes.size())
        .first->second;
  };
  Json devices = Json::array();
  for (const auto& [name, device] : timeline.devices) {
    devices.push_back(
        {{"id", process_of(name, true)}, {"name", device.name}, {"numSms", device.units}});
  }
  out.raw(Json{{"devices", devices}, {"notes", timeline.notes()}}.dump(
      -1, ' ', false, Json::error_handler_t::replace));
  out.raw("\n");
  std::vector<std::string> names(timeline.text_count());
  std::unordered_map<std::uint32_t, std::string> details;
  std::uint64_t row_number = own * most_rows_of_rank;
  bool first = true;
  const auto separate = [&] {
    if (!first) text += ",\n";
    first = false;
  };
  const auto metadata = [&](const char* what, std::uint64_t process, std::uint64_t row,
                            std::string_view name) {
    separate();
    out.raw("{\"ph\":\"M\",\"name\":\"").raw(what).raw("\",\"pid\":").number(process);
    out.raw(",\"tid\":").number(row).raw(",\"args\":{\"name\":").text(name).raw("}}");
  };
  for (const TraceRow& row : nested_rows(timeline)) {
    const TraceLane& lane = timeline.lane(row.lane);
    const std::uint64_t process = process_of(timeline.text(lane.process), lane.gpu);
    ++row_number;
    const std::string owner(timeline.text(lane.process));
    metadata("process_name", process, row_number, lane.gpu ? "GPU " + owner : owner);
    metadata("thread_name", process, row_number,
             std::string(timeline.text(lane.thread)) +
                 (row.number > 0 ? fmt::format(" ({})", row.number + 1) : ""));
    const std::string place = fmt::format(",\"pid\":{},\"tid\":{}", process, row_number);
    for (const TraceEvent* event : row.events) {
      const KindName kind = chrome_names(event->kind);
      std::string& name = names[event->name];
      if (name.empty()) ChromeText(name).text(timeline.text(event->name));
      separate();
      out.raw("{\"ph\":\"X\",\"cat\":\"").raw(kind.category).raw("\",\"name\":").raw(name);
      out.raw(place).raw(",\"ts\":").time(event->start + shift);
      out.raw(",\"dur\":").time(event->duration);
      const bool joins = event->correlation != no_number;
      if (joins || event->detail != 0) {
        // Two ranks use equal numbers for different launches.
        const std::uint64_t correlation = own << 40 | event->correlation;
        out.raw(",\"args\":{");
        if (joins) out.raw("\"correlation\":").number(correlation);
        if (event->detail != 0) {
          auto [at, is_new] = details.try_emplace(event->detail);
          if (is_new) at->second = chrome_detail(timeline, timeline.detail(event->detail));
          out.raw(std::string_view(at->second).substr(joins || at->second.empty() ? 0 : 1));
          const EventDetail& detail = timeline.detail(event->detail);
          const auto seconds = static_cast<double>(event->duration) * 1e-9;
          if (detail.bus_bytes > 0 && event->duration > 0) {
            out.raw(",\"bus GB/s\":").real(static_cast<double>(detail.bus_bytes) / seconds * 1e-9);
          }
          if (detail.flops > 0 && event->duration > 0) {
            out.raw(",\"TFLOP/s\":").real(static_cast<double>(detail.flops) / seconds * 1e-12);
          }
          if (detail.least > 0 && event->duration > 0) {
            out.raw(",\"share of roof\":");
            out.real(static_cast<double>(detail.least) / static_cast<double>(event->duration));
          }
        }
        out.raw("}");
      }
      out.raw("}");
      if (!joins || *kind.flow == '\0') continue;
      separate();
      out.raw("{\"ph\":\"").raw(kind.flow).raw("\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":");
      out.number(own << 40 | event->correlation).raw(place);
      out.raw(",\"ts\":").time(event->start + shift);
      out.raw(*kind.flow == 'f' ? ",\"bp\":\"e\"}" : "}");
    }
  }
  for (const TraceCounter& counter : timeline.counters) {
    const std::uint64_t process = first_host + own * 1000 + 999;
    metadata("process_name", process, 0, fmt::format("telemetry of rank {}", rank));
    const std::string name = Json(counter.name + " " + counter.unit).dump(-1, ' ', true);
    for (const auto& [time, value] : counter.values) {
      separate();
      out.raw("{\"ph\":\"C\",\"name\":").raw(name).raw(",\"pid\":").number(process);
      out.raw(",\"ts\":").time(time + shift).raw(",\"args\":{\"value\":").real(value).raw("}}");
    }
  }
  return text;
}

std::string whole_chrome(const std::vector<std::string>& parts, std::int64_t base) {
  Json devices = Json::array(), notes = Json::array();
  std::vector<std::string_view> events;
  std::size_t size = 0;
  for (const std::string& part : parts) {
    const std::size_t line = part.find('\n');
    const Json about = try_parse_json(part.substr(0, line));
    if (line == part.npos || !about.is_object()) continue;
    for (const Json& device : about.value("devices", Json::array())) devices.push_back(device);
    for (const Json& note : about.value("notes", Json::array())) {
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
    }
    const std::string_view own = std::string_view(part).substr(line + 1);
    if (!own.empty()) events.push_back(own);
    size += own.size();
  }
  std::string text = fmt::format(
      "{{\"schemaVersion\":1,\"displayTimeUnit\":\"ns\",\"baseTimeNanoseconds\":{},"
      "\"deviceProperties\":{},\"assay\":{},\"traceEvents\":[\n",
      base, devices.dump(), notes.dump());
  text.reserve(text.size() + size + 3 * events.size() + 10);
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (i > 0) text += ",\n";
    text += events[i];
  }
  text += "\n]}\n";
  return text;
}

}  // namespace assay
