// libFuzzer's entry to what reads texts of other programs. ASSAY_FUZZ_FORMAT names one reader: an
// importer by its name, a reader of traces as "trace:NAME", or one of `others` below; without it
// all importers get the text, whether they recognise it or not. For any bytes, an importer must
// return, and its result must be fit to be stored; what a reader returns must be fit to be judged.
// ASSAY_FUZZ_LIST=1 lists them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "advise/doctor/gpu_log/gpu_log.h"
#include "judge/trace/trace_report.h"
#include "results/import/importer.h"
#include "results/import/plain_text.h"
#include "results/traces/anonymous/anonymous_trace.h"
#include "results/traces/trace_reader.h"
#include "results/traces/writing/trace_writer.h"
#include "serving/results/load_timeline.h"

namespace {

/// Ends the program if what the rest of assay relies on does not hold.
void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

void check(const assay::Result<assay::Imported>& result) {
  if (!result.ok()) {
    require(!result.error().message.empty(), "an error says what is wrong");
    return;
  }
  require(!result->records.empty(), "an import has records");
  for (const assay::Record& record : result->records) {
    require(!record.run.empty() && record.source.has_value(), "a record has a run and a source");
    require(!record.cell.benchmark().empty(), "a record has a cell");
    const bool passed = record.status == assay::RecordStatus::passed;
    require(passed == record.reason.empty(), "a record has a reason exactly if it did not pass");
    require(!passed || !record.metrics.empty(), "a record that passed has metrics");
    for (const auto& [axis, value] : record.cell.values()) {
      require(!axis.empty() && !value.empty(), "axes and their values are not empty");
    }
    for (const assay::Metric& metric : record.metrics) {
      require(std::isfinite(metric.value) && !metric.name.empty(), "a metric is a finite number");
    }
  }
}

constexpr std::string_view trace_prefix = "trace:";

/// Leaves out what SQLite says of a damaged page. It may look at a few bytes beyond the page, which
/// are what its cache held before, and the reason that it gives depends on them.
std::string without_reason(const std::string& sentence) {
  return sentence.substr(0, sentence.find(" ("));
}

/// Returns what a reader makes of the bytes: its events, then its notes and error.
std::vector<std::string> read(const assay::TraceReader& reader, assay::TraceStream stream,
                              assay::Timeline& timeline) {
  const assay::Status status = reader.read(stream, timeline);
  require(status.ok() || !status.error().message.empty(), "an error says what is wrong");
  std::vector<std::string> lines;
  for (const assay::TraceEvent& event : timeline.events()) {
    const assay::TraceLane& lane = timeline.lane(event.lane);
    lines.push_back(std::to_string(event.start) + " " + std::to_string(event.duration) + " " +
                    std::to_string(event.correlation) + " ");
    for (const assay::TextId text : {event.name, lane.process, lane.thread}) {
      lines.back() += std::string(timeline.text(text)) + " ";
    }
  }
  for (const std::string& note : timeline.notes()) lines.push_back(without_reason(note));
  if (!status.ok()) lines.push_back(without_reason(status.error().message));
  return lines;
}

void check_trace(const assay::TraceReader& reader, std::string_view bytes) {
  (void)reader.recognises(bytes);
  assay::Timeline timeline, of_parts;
  const auto lines = read(reader, assay::TraceStream::of(bytes, "fuzzed"), timeline);
  // Files arrive in parts, which may end anywhere.
  constexpr std::size_t part = 97;
  const auto again = read(reader, assay::TraceStream::of(bytes, "fuzzed", part), of_parts);
  const auto [one, other] = std::mismatch(lines.begin(), lines.end(), again.begin(), again.end());
  if (one != lines.end()) std::fprintf(stderr, "at once: %s\n", one->c_str());
  if (other != again.end()) std::fprintf(stderr, "in parts: %s\n", other->c_str());
  require(lines == again, "where a part of a file ends changes nothing");
  const assay::TraceIndex index(timeline);
  for (const assay::DeviceReport& device : assay::report_trace(index).devices) {
    require(device.times.busy >= 0 && device.times.idle >= 0, "times are not negative");
    require(device.times.busy + device.times.idle == device.times.span, "times add up");
  }
  require(assay::compare_ranks({&index, &index}).ranks.size() >= 2, "each file is a rank or more");
}

/// Returns whether `name` is that of a reader, which was given the bytes.
bool check_as_trace(std::string_view name, std::string_view bytes) {
  if (!name.starts_with(trace_prefix)) return false;
  for (const assay::TraceReader* reader : assay::trace_readers()) {
    if (reader->name() != name.substr(trace_prefix.size())) continue;
    check_trace(*reader, bytes);
    return true;
  }
  return false;
}

/// A server's page of steps becomes a file that is read again.
void check_steps(std::string_view page) {
  assay::LoadTimeline load(0);
  const assay::Status status = load.add_steps(page, 0, "http://fuzzed", 0);
  require(status.ok() || !status.error().message.empty(), "an error says what is wrong");
  const assay::Timeline timeline = std::move(load).finish();
  for (const auto format : {assay::TraceFormat::chrome, assay::TraceFormat::perfetto}) {
    const auto text =
        assay::whole_trace({assay::trace_part(timeline, format, 0, 0)}, {format, false}, 0);
    require(text.ok(), "a timeline can be written");
    assay::Timeline again;
    require(assay::read_trace(assay::TraceStream::of(*text, "written"), again).ok(),
            "what was written can be read");
    require(again.events().size() == timeline.events().size(), "all events are read again");
  }
}

/// The log of `assay doctor --explain`.
void check_gpu_log(std::string_view text) {
  assay::GpuLog log;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    log.add(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::size_t messages = 0;
  for (const assay::GpuLogEvent& event : log.finish()) {
    require(event.message != nullptr && event.line > 0, "an event has a meaning and a line");
    messages += event.count;
  }
  require(messages <= log.lines(), "a line is at most one message");
}

/// What is left of a trace that was made anonymous is read as before, names aside.
void check_anonymous(std::string_view bytes) {
  constexpr std::size_t part = 97;
  auto stream = assay::TraceStream::of(bytes, "fuzzed", part);
  std::string copy;
  const auto done = assay::anonymize_trace(stream, [&](std::string_view text) -> assay::Status {
    copy += text;
    return {};
  });
  if (!done.ok()) return require(!done.error().message.empty(), "an error says what is wrong");
  assay::Timeline before, after;
  require(assay::read_trace(assay::TraceStream::of(bytes, "fuzzed"), before).ok(),
          "what can be copied can be read");
  require(assay::read_trace(assay::TraceStream::of(copy, "copy"), after).ok(),
          "a copy can be read");
  require(before.events().size() == after.events().size(), "a copy has all events");
  for (std::size_t i = 0; i < before.events().size(); ++i) {
    const assay::TraceEvent &a = before.events()[i], &b = after.events()[i];
    require(a.start == b.start && a.duration == b.duration && a.kind == b.kind &&
                a.correlation == b.correlation && a.external == b.external,
            "a copy has the events of its trace");
  }
}

struct Other {
  std::string_view name;
  void (*check)(std::string_view bytes);
};
constexpr Other others[] = {
    {"load-steps", &check_steps}, {"gpu-log", &check_gpu_log}, {"anonymize", &check_anonymous}};

bool check_as_other(std::string_view name, std::string_view bytes) {
  for (const Other& other : others) {
    if (other.name != name) continue;
    other.check(bytes);
    return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (std::getenv("ASSAY_FUZZ_LIST") == nullptr) return 0;
  for (const assay::Importer* importer : assay::importers()) {
    std::printf("%.*s\n", static_cast<int>(importer->name().size()), importer->name().data());
  }
  for (const assay::TraceReader* reader : assay::trace_readers()) {
    std::printf("%.*s%.*s\n", static_cast<int>(trace_prefix.size()), trace_prefix.data(),
                static_cast<int>(reader->name().size()), reader->name().data());
  }
  for (const Other& other : others) std::printf("%s\n", other.name.data());
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static const char* const only = std::getenv("ASSAY_FUZZ_FORMAT");
  if (only != nullptr && (check_as_trace(only, bytes) || check_as_other(only, bytes))) return 0;
  // Compressed files and UTF-16, and their damage, become texts here.
  constexpr std::size_t most = std::size_t{1} << 20;
  const auto text = assay::plain_text(std::string(bytes), "fuzzed", most);
  require(text.ok() || !text.error().message.empty(), "an error says what is wrong");
  std::string buffer;
  const assay::ImportText input{
      assay::without_line_prefixes(text.ok() ? std::string_view(*text) : bytes, buffer), "fuzzed"};
  bool found = false;
  for (const assay::Importer* importer : assay::importers()) {
    if (only != nullptr && importer->name() != only) continue;
    found = true;
    const int sure = importer->recognises(input);
    require(sure >= 0 && sure <= 100, "sureness is a percentage");
    check(importer->import(input));
  }
  require(found, "ASSAY_FUZZ_FORMAT names an importer");
  if (only == nullptr) check(assay::import_text(input, ""));
  return 0;
}
