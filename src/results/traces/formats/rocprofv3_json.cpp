// rocprofv3 -f json: a list with one object for each process. Agents, names of kernels and names of
// calls come before the records that use them, as the tool writes them.
#include <map>

#include "core/text.h"
#include "results/traces/json_stream.h"
#include "results/traces/trace_reader.h"

namespace assay::rocprofv3_json {
namespace {

/// One object of a list, flattened: "dispatch_info.queue_id.handle" -> "18".
using FlatRecord = std::map<std::string, std::string, std::less<>>;

std::string_view at(const FlatRecord& record, std::string_view key) {
  const auto found = record.find(key);
  return found == record.end() ? std::string_view() : std::string_view(found->second);
}

class Handler : public JsonEvents<Handler> {
 public:
  Handler(JsonLetters& letters, Timeline& timeline)
      : JsonEvents<Handler>(letters), timeline_(timeline) {}

  bool value(std::string_view text, JsonScalar kind) {
    if (kind == JsonScalar::literal) text = {};
    constexpr std::size_t most_members = 100'000, most_bytes = std::size_t{16} << 20;
    if (record_level_ == 0) return close();
    record_bytes_ += text.size();
    for (std::size_t i = record_level_ - 1; i < levels_.size(); ++i) {
      record_bytes_ += levels_[i].key.size();  // of its path
    }
    if (record_.size() < most_members && record_bytes_ < most_bytes) {
      record_.insert_or_assign(path(), text);
    } else {
      timeline_.note(
          "a record has more than 100,000 members or 16 MiB; the rest of it was left out");
    }
    return close();
  }
  bool key(std::string_view key) {
    constexpr std::size_t longest_key = std::size_t{1} << 20;
    levels_.back().key = key.substr(0, longest_key);
    return true;
  }
  bool begin_object() {
    if (record_level_ == 0 && levels_.size() >= 2 && levels_.back().is_list &&
        is_used(list_name())) {
      record_level_ = levels_.size() + 1;
      record_.clear();
      record_bytes_ = 0;
    }
    return open(false);
  }
  bool end_object() {
    const bool is_record = levels_.size() == record_level_;
    levels_.pop_back();
    if (!is_record) {
      constexpr std::size_t of_processes = 2;  // the list in the outermost object
      if (levels_.size() == of_processes && levels_.back().is_list) end_process();
      return close();
    }
    record_level_ = 0;
    use(list_name());
    constexpr std::size_t most_names = std::size_t{1} << 30;
    if (names_bytes_ > most_names) {
      problem_ = "has more than 1 GiB of names of agents, kernels and calls";
      return false;
    }
    return !full_ && close();
  }
  bool begin_list() { return open(true); }
  bool end_list() {
    levels_.pop_back();
    return close();
  }
  bool found_events() const { return found_; }
  /// Returns whether reading stopped because no further event may be added.
  bool is_full() const { return full_; }
  const std::string& problem() const { return problem_; }

 private:
  struct Level {
    bool is_list = false;
    std::string key;        // of the member that is being read
    std::size_t items = 0;  // of a list, so far
  };

  bool open(bool is_list) {
    constexpr std::size_t most_levels = 64;
    if (levels_.size() >= most_levels) {
      problem_ = "is nested more than 64 levels deep";
      return false;
    }
    levels_.push_back({is_list, {}, 0});
    return true;
  }
  bool close() {
    if (!levels_.empty()) ++levels_.back().items;
    return true;
  }
  /// The path of the value inside the record.
  std::string path() const {
    std::string path;
    for (std::size_t i = record_level_ - 1; i < levels_.size(); ++i) {
      if (!path.empty()) path += '.';
      path += levels_[i].is_list ? std::to_string(levels_[i].items) : levels_[i].key;
    }
    return path;
  }
  /// The name of the list that is being read, after that of the object it is in:
  /// "buffer_records.kernel_dispatch", ".agents".
  std::string list_name() const {
    std::string name;
    const std::size_t list = levels_.size() - 1;
    for (std::size_t i = list >= 2 ? list - 2 : 0; i < list; ++i) {
      if (levels_[i].is_list) continue;
      name += (name.empty() ? "" : ".") + levels_[i].key;
    }
    return name;
  }
  static bool is_used(std::string_view list) {
    return list == "agents" || list == "kernel_symbols" || list == "strings.buffer_records" ||
           list == "buffer_records.kernel_dispatch" || list == "buffer_records.memory_copy" ||
           list == "buffer_records.hip_api" || list == "buffer_records.rccl_api" ||
           list == "buffer_records.marker_api";
  }

  void use(std::string_view list) {
    if (list == "agents") {
      constexpr std::size_t longest_name = 200;
      const std::string agent(at(record_, "node_id").substr(0, longest_name));
      keep_name(agents_[std::string(at(record_, "id.handle"))], agent);
      if (at(record_, "type") != "2") return;
      constexpr std::size_t most_devices = 1024;
      if (timeline_.devices.size() >= most_devices) return;
      TraceDevice& device = timeline_.devices[agent];
      device.name =
          (at(record_, "product_name").empty() ? at(record_, "name") : at(record_, "product_name"))
              .substr(0, longest_name);
      device.units = static_cast<unsigned>(parse_count(at(record_, "cu_count")).value_or(0));
    } else if (list == "kernel_symbols") {
      kernels_[std::string(at(record_, "kernel_id"))] =
          timeline_.text_id(at(record_, "formatted_kernel_name"));
      names_bytes_ += entry_bytes + record_bytes_;
    } else if (list == "strings.buffer_records") {
      for (const auto& [key, name] : record_) {
        constexpr std::string_view operations = "operations.";
        if (key.starts_with(operations)) {
          keep_name(calls_[fmt::format("{}.{}", kinds_, key.substr(operations.size()))], name);
        }
      }
      ++kinds_;
    } else {
      add_event(list);
    }
  }

  void keep_name(std::string& place, const std::string& name) {
    place = name;
    names_bytes_ += entry_bytes + name.size();
  }

  /// Numbers of kernels, calls and launches begin anew in the next process.
  void end_process() {
    ++process_;
    agents_.clear();
    calls_.clear();
    kernels_.clear();
    kinds_ = names_bytes_ = 0;
  }
  TextId text_of_process(std::string_view text) {
    return timeline_.text_id(text_in_process(process_, text));
  }

  std::string agent_of(std::string_view handle) const {
    const auto found = agents_.find(handle);
    return found == agents_.end() ? std::string(handle) : found->second;
  }
  /// Returns the destination of a copy, or its source if only that is a GPU.
  std::string gpu_of_copy() const {
    std::string to = agent_of(at(record_, "dst_agent_id.handle"));
    std::string from = agent_of(at(record_, "src_agent_id.handle"));
    const auto& gpus = timeline_.devices;
    return gpus.count(to) == 0 && gpus.count(from) > 0 ? from : to;
  }
  std::uint32_t small_at(std::string_view key) const {
    const auto count = parse_count(at(record_, key));
    return count && *count <= UINT32_MAX ? static_cast<std::uint32_t>(*count) : 0;
  }

  void add_event(std::string_view list) {
    found_ = true;
    TraceEvent event;
    event.correlation = number_in_process(
        process_, parse_count(at(record_, "correlation_id.internal")).value_or(no_number));
    if (list == "buffer_records.kernel_dispatch") {
      event.kind = TraceEventKind::kernel;
      const auto name = kernels_.find(at(record_, "dispatch_info.kernel_id"));
      if (name == kernels_.end()) timeline_.note("a kernel's name is not in the file");
      event.name =
          name != kernels_.end()
              ? name->second
              : timeline_.text_id(fmt::format("kernel {}", at(record_, "dispatch_info.kernel_id")));
      event.lane = timeline_.lane_id(
          {timeline_.text_id(agent_of(at(record_, "dispatch_info.agent_id.handle"))),
           text_of_process(at(record_, "dispatch_info.queue_id.handle")), true});
      EventDetail detail;
      detail.grid = {small_at("dispatch_info.grid_size.x"), small_at("dispatch_info.grid_size.y"),
                     small_at("dispatch_info.grid_size.z")};
      detail.block = {small_at("dispatch_info.workgroup_size.x"),
                      small_at("dispatch_info.workgroup_size.y"),
                      small_at("dispatch_info.workgroup_size.z")};
      event.detail = timeline_.detail_id(detail);
    } else if (list == "buffer_records.memory_copy") {
      event.kind = TraceEventKind::copy;
      event.name = timeline_.text_id("Memcpy");
      event.lane =
          timeline_.lane_id({timeline_.text_id(gpu_of_copy()),
                             text_of_process(copy_lane(at(record_, "stream_id.handle"))), true});
      EventDetail detail;
      detail.bytes = parse_count(at(record_, "bytes")).value_or(0);
      event.detail = timeline_.detail_id(detail);
    } else {
      event.kind =
          list == "buffer_records.marker_api" ? TraceEventKind::annotation : TraceEventKind::call;
      const auto name =
          calls_.find(fmt::format("{}.{}", at(record_, "kind"), at(record_, "operation")));
      event.name = timeline_.text_id(name == calls_.end() ? std::string_view("a call")
                                                          : std::string_view(name->second));
      event.lane = timeline_.lane_id(
          {text_of_process("host"), timeline_.text_id(at(record_, "thread_id")), false});
    }
    full_ = !timeline_.add(event, decimal_time(at(record_, "start_timestamp"), 0),
                           decimal_time(at(record_, "end_timestamp"), 0));
  }

  Timeline& timeline_;
  std::vector<Level> levels_;
  std::size_t record_level_ = 0;  // of the record that is being read; 0: none
  FlatRecord record_;
  std::map<std::string, std::string, std::less<>> agents_, calls_;
  std::map<std::string, TextId, std::less<>> kernels_;
  static constexpr std::size_t entry_bytes = 100;  // of a map, with its key
  std::size_t kinds_ = 0, record_bytes_ = 0;
  std::size_t names_bytes_ = 0;  // of the maps
  std::uint64_t process_ = 0;
  std::string problem_;
  bool found_ = false, full_ = false;
};

class Reader : public TraceReader {
 public:
  std::string_view name() const override { return "rocprofv3-json"; }
  std::string_view summary() const override { return "rocprofv3 -f json"; }
  bool recognises(std::string_view start) const override {
    return trim(start).starts_with('{') &&
           start.substr(0, 1000).find("\"rocprofiler-sdk-tool\"") != start.npos;
  }
  Status read(TraceStream& stream, Timeline& timeline) const override {
    timeline.grid_in_work_items = true;
    JsonLetters letters(stream);
    Handler handler(letters, timeline);
    std::string problem = parse_json_stream(letters, handler);
    if (handler.is_full()) return {};
    if (!handler.problem().empty()) problem = handler.problem();
    return report_json_problem(stream, timeline, problem, handler.found_events());
  }
};

const Reader reader;
const TraceReaderRegistry::Add registered{&reader};

}  // namespace
}  // namespace assay::rocprofv3_json
