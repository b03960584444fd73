// How fast traces of PyTorch's profiler are read, plain and compressed, and what an event costs in
// memory: bench_trace_reading [MEGABYTES]. The text is made in memory, and the time is that of the
// processor, so that other programs do not count.
#include <fmt/format.h>
#include <zlib.h>

#include <cstdlib>
#include <ctime>
#include <string>

#include "results/traces/trace_reader.h"

namespace {

/// A kernel, the call that launched it, its operation and flow, as PyTorch writes them.
std::string step_text(std::size_t number) {
  const double time = 5001650443483.83 + static_cast<double>(number) * 10;
  return fmt::format(
      R"(  {{
    "ph": "X", "cat": "cpu_op", "name": "aten::matmul", "pid": 635, "tid": 635,
    "ts": {0:.3f}, "dur": 188.161,
    "args": {{
      "External id": {1},"Record function id": 0, "Concrete Inputs": ["", ""], "Input type": ["c10::BFloat16", "c10::BFloat16"], "Input Strides": [[4096, 1], [4096, 1]], "Input Dims": [[{2}, 4096], [4096, 4096]], "Ev Idx": {1}
    }}
  }},
  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 635, "tid": 635,
    "ts": {0:.3f}, "dur": 5.928,
    "args": {{
      "External id": {1}, "cbid": 211, "correlation": {1}
    }}
  }},
  {{
    "ph": "s", "id": {1}, "pid": 635, "tid": 635, "ts": {0:.3f},
    "cat": "ac2g", "name": "ac2g"
  }},
  {{
    "ph": "X", "cat": "kernel", "name": "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", "pid": 0, "tid": 7,
    "ts": {0:.3f}, "dur": 92.096,
    "args": {{
      "External id": {1}, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": {1}, "registers per thread": 168, "shared memory": 213188, "blocks per SM": 1.0, "warps per SM": 12.0, "grid": [{2}, 66, 1], "block": [384, 1, 1], "est. achieved occupancy %": 0
    }}
  }},
)",
      time, number, number % 1000);
}

std::string compressed(const std::string& text) {
  z_stream stream{};
  if (::deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) std::exit(1);
  std::string bytes(::deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<unsigned>(text.size());
  stream.next_out = reinterpret_cast<unsigned char*>(bytes.data());
  stream.avail_out = static_cast<unsigned>(bytes.size());
  if (::deflate(&stream, Z_FINISH) != Z_STREAM_END) std::exit(1);
  bytes.resize(bytes.size() - stream.avail_out);
  ::deflateEnd(&stream);
  return bytes;
}

void measure(const char* what, const std::string& bytes, std::size_t text_bytes) {
  const std::clock_t begin = std::clock();
  assay::Timeline timeline;
  const assay::Status status =
      assay::read_trace(assay::TraceStream::of(bytes, "trace.json"), timeline);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  if (!status.ok() || !timeline.notes().empty()) std::exit(1);
  fmt::print("{}: {:.0f} MB/s of text, {} events, {:.0f} bytes an event\n", what,
             static_cast<double>(text_bytes) / 1e6 / seconds, timeline.events().size(),
             static_cast<double>(timeline.bytes()) / static_cast<double>(timeline.events().size()));
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t megabytes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 200;
  std::string text = R"({"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": [)";
  for (std::size_t i = 0; text.size() < megabytes * 1'000'000; ++i) text += step_text(i);
  text += R"({"ph": "M", "name": "end"}]})";
  measure("plain", text, text.size());
  measure("gzip ", compressed(text), text.size());
  return 0;
}
