// libFuzzer's entry to the importers and the readers of traces. ASSAY_FUZZ_FORMAT names one of
// them, a reader as "trace:NAME"; without it all importers get the text, whether they recognise it
// or not. For any bytes, an importer must return, and its result must be fit to be stored; what a
// reader returns must be fit to be judged. ASSAY_FUZZ_LIST=1 lists them.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "judge/trace/trace_report.h"
#include "results/import/importer.h"
#include "results/import/plain_text.h"
#include "results/traces/trace_reader.h"

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

void check_trace(const assay::TraceReader& reader, std::string_view bytes) {
  auto stream = assay::TraceStream::of(bytes, "fuzzed");
  (void)reader.recognises(stream.start(std::size_t{1} << 16));
  assay::Timeline timeline;
  const assay::Status status = reader.read(stream, timeline);
  require(status.ok() || !status.error().message.empty(), "an error says what is wrong");
  const assay::TraceIndex index(timeline);
  for (const assay::DeviceReport& device : assay::report_trace(index).devices) {
    require(device.times.busy >= 0 && device.times.idle >= 0, "times are not negative");
    require(device.times.busy + device.times.idle == device.times.span, "times add up");
  }
  require(assay::compare_ranks({&index, &index}).ranks.size() == 2, "ranks are compared");
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
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static const char* const only = std::getenv("ASSAY_FUZZ_FORMAT");
  if (only != nullptr && check_as_trace(only, bytes)) return 0;
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
