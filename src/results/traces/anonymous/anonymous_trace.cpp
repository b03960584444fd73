#include "results/traces/anonymous/anonymous_trace.h"

#include <fmt/format.h>

#include <optional>
#include <unordered_map>
#include <vector>

#include "core/shown_text.h"
#include "core/text.h"
#include "core/write_file.h"
#include "results/traces/anonymous/known_members.h"
#include "results/traces/anonymous/known_words.h"
#include "results/traces/json_stream.h"
#include "results/traces/trace_reader.h"
#include "results/traces/writing/gzip.h"

namespace assay {
namespace {

/// Appends a JSON text with its quotation marks. Bytes that are not UTF-8 stay as they are.
void append_text(std::string& out, std::string_view text) {
  out += '"';
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') out += '\\';
    if (static_cast<unsigned char>(letter) < ' ') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(letter));
    } else {
      out += letter;
    }
  }
  out += '"';
}

/// Gives the texts of a file new ones, the same text the same one.
class NewNames {
 public:
  explicit NewNames(AnonymousTrace& result) : result_(result) {}

  /// `kind`: "annotation" gives "annotation-7". Names of different kinds are different.
  std::string of(std::string_view kind, std::string_view text) {
    auto& names = names_[std::string(kind)];
    const auto [at, is_new] = names.try_emplace(std::string(text), names.size() + 1);
    if (is_new) {
      constexpr std::size_t entry = 100;  // bytes around the text
      bytes_ += text.size() + entry;
      ++result_.replaced[std::string(kind)];
    }
    return fmt::format("{}-{}", kind, at->second);
  }
  bool is_full() const {
    constexpr std::size_t most_bytes = std::size_t{1} << 30;
    return bytes_ > most_bytes;
  }

 private:
  AnonymousTrace& result_;
  std::map<std::string, std::unordered_map<std::string, std::size_t>, std::less<>> names_;
  std::size_t bytes_ = 0;
};

/// Writes the copy from the parser's events.
class Copy : public JsonEvents<Copy> {
 public:
  using Write = std::function<Status(std::string_view)>;
  Copy(JsonLetters& letters, AnonymousTrace& result, const Write& write)
      : JsonEvents<Copy>(letters), result_(result), names_(result), write_(write) {}

  bool value(std::string_view text, JsonScalar kind) {
    const bool quoted = kind == JsonScalar::text;
    if (dropped_ > 0 || levels_.empty()) return true;
    const Level& level = levels_.back();
    if (level.place == Place::events || level.place == Place::devices ||
        level.place == Place::groups) {
      return true;  // they have objects only
    }
    const Keep keep = level.place == Place::list ? level.keep : keep_;
    if (keep == Keep::nothing) return true;
    if (level.place == Place::event && keep == Keep::name) {
      name_ = text;
      has_name_ = quoted;
    } else if (level.place == Place::event && keep == Keep::category) {
      category_ = quoted ? text : std::string_view();
    } else if (level.place == Place::event && key_ == "ph") {
      phase_ = quoted && text.size() == 1 ? text : std::string_view();
    } else if (level.place == Place::args && quoted && keep == Keep::lane) {
      label_key_ = key_;
      label_ = text;
    } else {
      begin_value();
      if (!quoted) {
        this->text() += text;
      } else {
        append_text(this->text(), new_text(keep, text));
      }
    }
    return is_bounded();
  }
  bool key(std::string_view key) {
    if (dropped_ > 0) return true;
    key_ = key;
    keep_ = keep_of_member();
    if (keep_ == Keep::nothing) leave_out();
    return true;
  }
  bool begin_object() { return open('{', '}'); }
  bool begin_list() { return open('[', ']'); }
  bool end_object() { return close(); }
  bool end_list() { return close(); }

  /// Writes what is left. Error: that of writing.
  Status finish() {
    if (!write_problem_.ok()) return write_problem_;
    out_ += '\n';
    return write_(out_);
  }
  const std::string& problem() const { return problem_; }
  Status write_problem() const { return write_problem_; }

 private:
  /// Where the parser is.
  enum class Place { top, events, event, args, devices, device, distributed, groups, group, list };
  struct Level {
    Place place;
    char end;
    bool is_empty = true;
    Keep keep = Keep::nothing;  // of a list's values
  };

  Keep keep_of_member() const {
    if (levels_.empty()) return Keep::nothing;
    switch (levels_.back().place) {
      case Place::top:
        return keep_of(key_, top_members);
      case Place::event:
        return keep_of(key_, event_members);
      case Place::args:
        return keep_of(key_, args_members);
      case Place::device:
        return keep_of(key_, device_members);
      case Place::distributed:
        return keep_of(key_, distributed_members);
      case Place::group:
        return keep_of(key_, group_members);
      case Place::events:
      case Place::devices:
      case Place::groups:
      case Place::list:
        break;
    }
    return Keep::nothing;
  }

  void leave_out() {
    constexpr std::size_t most_keys = 100, longest_key = 60;
    const std::string key = shown_line(key_, longest_key);
    const bool fits = result_.left_out.size() < most_keys || result_.left_out.contains(key);
    ++result_.left_out[fits ? key : "other members"];
  }

  /// The text that the innermost container is collected in: that of an event's arguments, of an
  /// event without its name, or of the file.
  std::string& text() {
    if (in_args_) return args_;
    return in_event_ ? event_ : out_;
  }
  /// Begins a value, with the comma and the key that it needs.
  void begin_value() {
    if (levels_.empty()) return;
    Level& level = levels_.back();
    std::string& to = text();
    if (!level.is_empty) to += ',';
    level.is_empty = false;
    if (level.place == Place::events || level.place == Place::top) to += '\n';
    if (level.end == '}') {
      append_text(to, key_);
      to += ':';
    }
  }

  /// Returns the place that a container which begins now is; empty: it is left out.
  std::optional<Place> place_of(char begin) const {
    if (levels_.empty()) return begin == '{' ? Place::top : Place::events;
    const bool object = begin == '{';
    switch (levels_.back().place) {
      case Place::events:
        return object ? std::optional(Place::event) : std::nullopt;
      case Place::devices:
        return object ? std::optional(Place::device) : std::nullopt;
      case Place::groups:
        return object ? std::optional(Place::group) : std::nullopt;
      case Place::list:
        return object ? std::nullopt : std::optional(Place::list);
      case Place::top:
      case Place::event:
      case Place::args:
      case Place::device:
      case Place::distributed:
      case Place::group:
        break;
    }
    switch (keep_) {
      case Keep::events:
        return object ? std::nullopt : std::optional(Place::events);
      case Keep::devices:
        return object ? std::nullopt : std::optional(Place::devices);
      case Keep::groups:
        return object ? std::nullopt : std::optional(Place::groups);
      case Keep::args:
        return object ? std::optional(Place::args) : std::nullopt;
      case Keep::distributed:
        return object ? std::optional(Place::distributed) : std::nullopt;
      case Keep::nothing:
      case Keep::category:
      case Keep::name:
      case Keep::phase:
      case Keep::lane:
        return std::nullopt;
      case Keep::number:
      case Keep::argument:
      case Keep::version:
      case Keep::type:
      case Keep::collective:
      case Keep::kind:
      case Keep::code:
      case Keep::group:
      case Keep::device:
      case Keep::note:
        break;
    }
    return object ? std::nullopt : std::optional(Place::list);
  }

  bool open(char begin, char end) {
    constexpr std::size_t most_levels = 64;
    if (levels_.size() + dropped_ >= most_levels) {
      problem_ = fmt::format("is nested more than {} levels deep", most_levels);
      return false;
    }
    const std::optional<Place> place = dropped_ > 0 ? std::nullopt : place_of(begin);
    if (!place) {
      ++dropped_;
      return true;
    }
    if (*place == Place::event) {
      begin_event();
    } else if (*place == Place::args) {
      in_args_ = true;
      has_args_ = true;
    } else {
      begin_value();
      text() += begin;
    }
    levels_.push_back({*place, end, *place == Place::args ? args_.empty() : true, keep_});
    return true;
  }

  bool close() {
    if (dropped_ > 0) {
      --dropped_;
      return true;
    }
    const Level level = levels_.back();
    levels_.pop_back();
    if (level.place == Place::event) return end_event();
    if (level.place == Place::args) {
      in_args_ = false;
    } else {
      text() += level.end;
    }
    return is_bounded();
  }

  void begin_event() {
    in_event_ = true;
    has_args_ = has_name_ = false;
    for (std::string* one : {&event_, &args_, &name_, &category_, &phase_, &label_}) one->clear();
    label_key_.clear();
  }
  bool end_event() {
    in_event_ = false;
    ++result_.events;
    if (!levels_.back().is_empty) out_ += ',';
    levels_.back().is_empty = false;
    out_ += "\n{";
    std::string separator;
    const auto member = [&](std::string_view key, std::string_view value) {
      out_ += separator;
      append_text(out_, key);
      out_ += ':';
      append_text(out_, value);
      separator = ",";
    };
    if (!phase_.empty()) member("ph", phase_);
    if (!category_.empty()) {
      member("cat", is_category(category_) ? category_ : names_.of("category", category_));
    }
    if (has_name_) member("name", new_name());
    if (!event_.empty()) {
      out_ += separator + event_;
      separator = ",";
    }
    if (has_args_) {
      out_ += separator + "\"args\":{" + args_;
      if (!label_key_.empty()) {
        separator = args_.empty() ? "" : ",";
        member(label_key_, new_label());
      }
      out_ += '}';
    }
    out_ += '}';
    return is_bounded() && write_some();
  }

  /// The name of an event, which depends on its category.
  std::string new_name() {
    const auto is = [this](std::string_view category) {
      return is_equal_without_case(category_, category);
    };
    if (is("user_annotation") || is("gpu_user_annotation")) {
      if (is_profiler_step(name_)) return name_;
      // Names that begin so are steps to readers, and have to stay steps.
      constexpr std::string_view step = "execute_";
      if (name_.starts_with(step)) return std::string(step) + names_.of("annotation", name_);
      if (name_.starts_with("ProfilerStep#")) return names_.of("ProfilerStep#annotation", name_);
      return names_.of("annotation", name_);
    }
    if (is_profiler_event(name_)) return name_;
    if (is("python_function")) return names_.of("python", name_);
    const bool is_gpu =
        is("kernel") || is("gpu_memcpy") || is("gpu_memset") || is("memcpy") || is("memset");
    if (is_gpu) return is_name_of_code(name_) ? name_ : names_.of("kernel", name_);
    for (const std::string_view one : {"cpu_op", "operator", "cuda_runtime", "cuda_driver",
                                       "runtime", "driver", "overhead", "cuda_sync"}) {
      if (is(one)) return is_name_of_code(name_) ? name_ : names_.of("operator", name_);
    }
    return names_.of(phase_ == "C" ? "counter" : "event", name_);
  }
  /// The name of a process or a thread, of which only the profiler's own words stay.
  std::string new_label() {
    if (is_lane_name(label_)) return label_;
    constexpr std::string_view thread = "thread ";
    if (label_.starts_with(thread)) {
      const std::string number = label_.substr(0, label_.find(' ', thread.size()));
      if (is_lane_name(number)) return number;
    }
    return names_.of("process", label_);
  }

  /// Returns what a text becomes; empty: it is left out, and the others of a list keep their
  /// places.
  std::string new_text(Keep keep, std::string_view text) {
    const auto known = [&](bool is_known, std::string_view kind) {
      return is_known ? std::string(text) : names_.of(kind, text);
    };
    bool stays = false;
    switch (keep) {
      case Keep::number:
        stays = is_number_or_list(text);
        break;
      case Keep::argument:
        stays = is_plain_argument(text);
        break;
      case Keep::version:
        stays = is_version(text);
        break;
      case Keep::kind:
        stays = is_kind_word(text);
        break;
      case Keep::phase:
        stays = text.size() <= 1;
        break;
      case Keep::type:
        return known(is_type_name(text), "type");
      case Keep::collective:
        return known(is_collective_name(text), "collective");
      case Keep::code:
        return known(is_name_of_code(text), "kernel");
      case Keep::group:
        return known(is_kind_word(text), "group");
      case Keep::device:
        return known(is_device_name(text), "device");
      case Keep::lane:
        return known(is_lane_name(text), "lane");
      case Keep::note:
        return "the notes were left out when the trace was made anonymous";
      case Keep::nothing:
      case Keep::category:
      case Keep::name:
      case Keep::events:
      case Keep::args:
      case Keep::devices:
      case Keep::distributed:
      case Keep::groups:
        break;
    }
    if (!stays) leave_out();
    return stays ? std::string(text) : std::string();
  }

  bool is_bounded() {
    constexpr std::size_t longest_event = std::size_t{64} << 20;
    if (event_.size() > longest_event || args_.size() > longest_event) {
      problem_ = "has an event of more than 64 MiB";
    } else if (names_.is_full()) {
      problem_ = "has more than 1 GiB of different names";
    }
    if (!in_event_ && problem_.empty()) return write_some();
    return problem_.empty();
  }
  bool write_some() {
    constexpr std::size_t enough = std::size_t{1} << 18;
    if (out_.size() < enough) return true;
    write_problem_ = write_(out_);
    out_.clear();
    return write_problem_.ok();
  }

  AnonymousTrace& result_;
  NewNames names_;
  const Write& write_;
  Status write_problem_;
  std::string out_, event_, args_;
  std::string name_, category_, phase_, label_, label_key_;  // of the event
  std::string key_, problem_;
  std::vector<Level> levels_;
  std::size_t dropped_ = 0;  // containers that are left out and not closed yet
  Keep keep_ = Keep::nothing;
  bool in_event_ = false, in_args_ = false, has_args_ = false, has_name_ = false;
};

}  // namespace

Result<AnonymousTrace> anonymize_trace(TraceStream& stream, const Copy::Write& write) {
  const TraceReader* const reader = reader_of(stream);
  if (reader == nullptr || reader->name() != "kineto") {
    return Error{ErrorKind::usage,
                 fmt::format("{} is {}, which cannot be made anonymous; only JSON of PyTorch's "
                             "profiler can. Of other traces, send what assay trace read prints "
                             "after looking through it",
                             stream.name(),
                             reader == nullptr ? "no trace that assay can read"
                                               : fmt::format("a trace of {}", reader->summary()))};
  }
  AnonymousTrace result;
  JsonLetters letters(stream);
  Copy copy(letters, result, write);
  std::string problem = parse_json_stream(letters, copy);
  TRY(copy.write_problem());
  if (!copy.problem().empty()) problem = copy.problem();
  if (problem.empty() && !stream.problem().empty()) problem = stream.problem();
  if (problem.empty() && letters.more_follows()) {
    problem = "has one JSON value, after which more text follows";
  }
  // Other JSON may have members with the names of a trace's, somewhere.
  if (problem.empty() && result.events == 0) problem = "has no events";
  if (!problem.empty()) {
    return Error{ErrorKind::usage,
                 fmt::format("{} {}, so no copy was written: record it again, or cut it to whole "
                             "events that end in ]}}",
                             stream.name(), problem)};
  }
  TRY(copy.finish());
  return result;
}

Result<AnonymousTrace> anonymize_trace_file(const std::string& from,
                                            const std::filesystem::path& to) {
  TraceStream stream = TRY(TraceStream::open(from));
  TRY(check_writable(to, {from}));
  NewFile file = TRY(NewFile::create(to));
  std::optional<Gzip> gzip;
  if (to.extension() == ".gz") gzip.emplace();
  std::string bytes;
  const auto write = [&](std::string_view text) -> Status {
    if (!gzip) return file.append(text);
    bytes.clear();
    TRY(gzip->add(text, false, bytes));
    return file.append(bytes);
  };
  AnonymousTrace result = TRY(anonymize_trace(stream, write));
  if (gzip) {
    bytes.clear();
    TRY(gzip->add({}, true, bytes));
    TRY(file.append(bytes));
  }
  TRY(file.finish());
  return result;
}

}  // namespace assay
