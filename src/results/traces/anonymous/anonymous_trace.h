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
  std::map<std::string, std::size_t> replaced;  ///< different texts, by kind: "annotation" -> 3
  /// Members, and values that became empty texts, by key: "kernel_file" -> 12. All beyond
  /// 100 keys are "other members".
  std::map<std::string, std::size_t> left_out;
};

/// Reads a trace of PyTorch's profiler, or any in Chrome's JSON, and hands its copy to `write` in
/// parts. Numbers keep their text. Texts stay if they are words that profilers write themselves, or
/// names of kernels, operators or calls without a path. Other names become "annotation-1", equal
/// ones equally, other texts become empty, and unknown members are left out. Error: usage, if it is
/// another format, is cut off or damaged, has no events, or is nested more than 64 levels deep or
/// has an event of more than 64 MiB or more than 1 GiB of names; that of `write`.
Result<AnonymousTrace> anonymize_trace(TraceStream& stream,
                                       const std::function<Status(std::string_view)>& write);

/// Writes the copy of the file `from` into `to`, which is compressed if its name ends in ".gz".
/// After an error, `to` is as it was. Error: as anonymize_trace() and TraceStream::open(); as
/// check_writable() (core/write_file.h) and NewFile (core/write_file.h), usage if both are the same
/// file.
Result<AnonymousTrace> anonymize_trace_file(const std::string& from,
                                            const std::filesystem::path& to);

}  // namespace assay
