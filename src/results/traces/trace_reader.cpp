#include "results/traces/trace_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <system_error>

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t start_bytes = std::size_t{1} << 16;

/// Returns the file's name without what tells the CSV files of one run apart:
/// "out/123_kernel_trace.csv.gz" becomes "out/123". Other names stay.
std::string run_of(const std::string& path) {
  std::string_view name = path;
  if (name.ends_with(".gz")) name.remove_suffix(3);
  for (const std::string_view part :
       {"kernel", "memory_copy", "hip_api", "hip_runtime_api", "hip_compiler_api", "hsa_api",
        "marker_api", "marker", "rccl_api"}) {
    const std::string suffix = fmt::format("{}_trace.csv", part);
    if (name.ends_with(suffix)) return std::string(name.substr(0, name.size() - suffix.size()));
  }
  return path;
}

/// Returns the same text for all paths of one file, compressed or not.
std::string file_of(const std::string& path) {
  std::error_code error;
  std::string file = fs::weakly_canonical(path, error).string();
  if (error) file = path;
  if (file.ends_with(".gz")) file.resize(file.size() - 3);
  return file;
}

}  // namespace

std::vector<const TraceReader*> trace_readers() {
  std::vector<const TraceReader*> readers = TraceReaderRegistry::entries();
  std::sort(readers.begin(), readers.end(),
            [](const auto* a, const auto* b) { return a->name() < b->name(); });
  return readers;
}

const TraceReader* reader_of(TraceStream& stream) {
  const std::string_view start = stream.start(start_bytes);
  for (const TraceReader* reader : trace_readers()) {
    if (reader->recognises(start)) return reader;
  }
  return nullptr;
}

bool is_trace(const std::string& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return false;
  auto stream = TraceStream::open(file);
  return stream.ok() && reader_of(*stream) != nullptr;
}

Status read_trace(TraceStream stream, Timeline& timeline) {
  const TraceReader* const reader = reader_of(stream);
  if (reader == nullptr) {
    std::vector<std::string> formats;
    for (const TraceReader* one : trace_readers()) {
      formats.push_back(fmt::format("{} ({})", one->name(), one->summary()));
    }
    return Error{ErrorKind::usage, fmt::format("{} is not a trace that assay can read; it reads {}",
                                               stream.name(), fmt::join(formats, ", "))};
  }
  if (timeline.file.empty()) timeline.file = stream.name();
  timeline.format = reader->name();
  const Status status = reader->read(stream, timeline);
  if (status.ok() && !stream.problem().empty()) {
    timeline.note(fmt::format("{}: {}", stream.name(), stream.problem()));
  }
  return status;
}

Result<std::vector<Timeline>> read_traces(const std::vector<std::string>& paths) {
  std::vector<Timeline> timelines;
  std::map<std::string, std::size_t> runs;  // of several files
  std::map<std::string, std::size_t> files;
  const auto read = [&](const std::string& path, TraceStream stream) -> Status {
    const std::string file = file_of(path);
    const auto before = files.find(file);
    if (before != files.end()) {
      timelines[before->second].note(fmt::format("{} is given twice and was read once", path));
      return {};
    }
    const auto [at, is_new] = runs.emplace(run_of(path), timelines.size());
    files.emplace(file, at->second);
    if (is_new) timelines.emplace_back();
    std::size_t others = 0;
    for (std::size_t i = 0; i < timelines.size(); ++i) {
      if (i != at->second) others += timelines[i].bytes();
    }
    timelines[at->second].limit_bytes(most_bytes_of_all - std::min(others, most_bytes_of_all));
    return read_trace(std::move(stream), timelines[at->second]);
  };
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      TraceStream stream = TRY(TraceStream::open(path));
      TRY(read(path, std::move(stream)));
      continue;
    }
    std::size_t found = 0;
    for (const fs::path& entry : TRY(list_folder(path))) {
      if (!fs::is_regular_file(entry, error)) continue;
      TraceStream stream = TRY(TraceStream::open(entry));
      if (reader_of(stream) == nullptr) continue;
      const Status status = read(entry.string(), std::move(stream));
      if (!status.ok()) timelines[runs[run_of(entry.string())]].note(status.error().message);
      ++found;
    }
    if (found == 0) {
      return Error{ErrorKind::usage, fmt::format("the folder {} contains no trace that assay can "
                                                 "read; give its files or a folder of traces",
                                                 path)};
    }
  }
  return timelines;
}

}  // namespace assay
