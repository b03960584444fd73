// Traces in memory, as texts of a file, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "results/traces/trace_reader.h"

namespace assay {

/// Returns the timeline of a file with this text; its notes end in the error if it has one.
inline Timeline timeline_of(std::string_view text, const std::string& name = "trace.json") {
  Timeline timeline;
  const Status status = read_trace(TraceStream::of(text, name), timeline);
  if (!status.ok()) timeline.note(status.error().message);
  return timeline;
}

/// Returns a trace of these events, as PyTorch's profiler writes it.
inline std::string kineto_text(std::string_view events) {
  return R"({"schemaVersion":1,"displayTimeUnit":"ms","traceEvents":[)" + std::string(events) +
         "]}";
}

/// An event of work on GPU 0; `rest` are further members.
inline std::string gpu_event(std::string_view category, std::string_view name, std::string_view ts,
                             std::string_view dur, std::string_view args = "",
                             std::string_view stream = "7") {
  return "{\"ph\":\"X\",\"cat\":\"" + std::string(category) + "\",\"name\":\"" + std::string(name) +
         "\",\"pid\":0,\"tid\":" + std::string(stream) + ",\"ts\":" + std::string(ts) +
         ",\"dur\":" + std::string(dur) + ",\"args\":{" + std::string(args) + "}}";
}

}  // namespace assay
