// How fast traces are written: bench_trace_writing [EVENTS]. The time is that of the processor, so
// that other programs do not count.
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <string>

#include "results/traces/writing/trace_writer.h"

namespace {

/// Calls of the host and the kernels they launch, half of each.
assay::Timeline timeline_of(std::size_t events) {
  assay::Timeline timeline;
  const auto host = timeline.lane_id({timeline.text_id("host 0"), timeline.text_id("main"), false});
  const auto gpu = timeline.lane_id({timeline.text_id("0"), timeline.text_id("stream 1"), true});
  for (std::size_t i = 0; i < events / 2; ++i) {
    assay::TraceEvent call;
    call.kind = assay::TraceEventKind::call;
    call.lane = host;
    call.name = timeline.text_id("LaunchKernel");
    call.correlation = i + 1;
    call.start = static_cast<std::int64_t>(i) * 10'000;
    call.duration = 4'000;
    timeline.add(call);
    assay::TraceEvent kernel = call;
    kernel.kind = assay::TraceEventKind::kernel;
    kernel.lane = gpu;
    kernel.name = timeline.text_id(fmt::format("kernel_{}", i % 300));
    kernel.start += 5'000;
    kernel.duration = 9'000;
    assay::EventDetail detail;
    detail.grid = {static_cast<std::uint32_t>(i % 100 + 1), 1, 1};
    detail.block = {256, 1, 1};
    detail.bytes = 4096;
    kernel.detail = timeline.detail_id(detail);
    timeline.add(kernel);
  }
  return timeline;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t events = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1'000'000;
  const assay::Timeline timeline = timeline_of(events);
  for (const auto& [name, format] : {std::pair{"Chrome", assay::TraceFormat::chrome},
                                     std::pair{"Perfetto", assay::TraceFormat::perfetto}}) {
    const std::clock_t begin = std::clock();
    const auto text =
        assay::whole_trace({assay::trace_part(timeline, format, 0, 0)}, {format, false}, 0);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    if (!text.ok()) return 1;
    fmt::print("{}: {} events in {:.2f} s, {:.0f} bytes an event\n", name, timeline.events().size(),
               seconds,
               static_cast<double>(text->size()) / static_cast<double>(timeline.events().size()));
  }
  return 0;
}
