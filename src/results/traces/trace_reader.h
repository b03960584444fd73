// Reads traces of other programs into timelines. A reader recognises its format by content. A new
// format is one new file in formats/ that ends in
//   const TraceReaderRegistry::Add registered{&reader};
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry.h"
#include "core/result.h"
#include "results/timeline/timeline.h"
#include "results/traces/trace_stream.h"

namespace assay {

/// A format. There is one object for each, without state.
class TraceReader {
 public:
  virtual ~TraceReader() = default;
  virtual std::string_view name() const = 0;     ///< "kineto"
  virtual std::string_view summary() const = 0;  ///< one line
  /// Returns whether `start`, the first 64 KiB of a file, decompressed, has the format. It only
  /// searches for marks.
  virtual bool recognises(std::string_view start) const = 0;
  /// Adds the events of the file to `timeline`, and a note for everything that could not be read.
  /// Error: usage, if nothing could be read; for databases also as Database::open()
  /// (core/database.h). Never throws; the file is not trusted.
  virtual Status read(TraceStream& stream, Timeline& timeline) const = 0;
};
using TraceReaderRegistry = Registry<const TraceReader*>;

/// Sorted by name.
std::vector<const TraceReader*> trace_readers();

/// Returns the reader that recognises the file; null: it is no trace. Call it before read().
const TraceReader* reader_of(TraceStream& stream);
/// Returns whether a reader recognises the file. Pipes are no traces, because looking consumes
/// them.
bool is_trace(const std::string& file);

/// Adds the events of a file to `timeline`, with the reader that recognises it. Error: usage,
/// naming the file and the formats, if none does; as TraceReader::read().
Status read_trace(TraceStream stream, Timeline& timeline);

/// Reads files and the trace files in folders. Files that one run of rocprofv3 wrote as CSV become
/// one timeline. A folder's other files are left out, and its traces that cannot be read become
/// notes. A file that is given twice, or also compressed (".gz"), is read once, with a note. Error:
/// as TraceStream::open(), list_folder() (core/input_file.h) and, for files that are not in a
/// folder, read_trace(); usage, if a folder has no trace.
Result<std::vector<Timeline>> read_traces(const std::vector<std::string>& paths);

}  // namespace assay
