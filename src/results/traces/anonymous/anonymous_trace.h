// Copies traces without what tells who recorded them where, so that they can be sent to others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/result.h"
#include "results/traces/trace_stream.h"

namespace assay {

/// What a copy has, and what it no longer has.
struct AnonymousTrace {
  std::uint64_t events = 0;
  std::map<std::string, std::size_t> replaced;  ///< different texts: "annotation" -> 3
  std::map<std::string, std::size_t> left_out;  ///< members, by key: "kernel_file" -> 12
};

/// Reads a trace of PyTorch's profiler, or any in Chrome's JSON, and hands its copy to `write` in
/// parts. Numbers keep their text; of texts only those stay that profilers write themselves, and
/// names of kernels, operators and calls. The others become "annotation-1", the same in all places,
/// and members that are not known are left out. Error: usage, if it is another format, or is cut
/// off or damaged; that of `write`.
Result<AnonymousTrace> anonymize_trace(TraceStream& stream,
                                       const std::function<Status(std::string_view)>& write);

/// Does so for the file `from`, into `to`, which is compressed if its name ends in ".gz". Error: as
/// above; usage, if both are the same file.
Result<AnonymousTrace> anonymize_trace_file(const std::string& from,
                                            const std::filesystem::path& to);

}  // namespace assay
