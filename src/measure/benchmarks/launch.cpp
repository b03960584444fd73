// launch: the cost of starting work on the device, without the work itself.
#include <fmt/format.h>

#include <memory>

#include "compute/device/helpers.h"
#include "core/units.h"
#include "measure/grid/simple_benchmark.h"
#include "measure/sampling/event_resolution.h"

namespace assay::launch_benchmark {
namespace {

/// A kernel that does nothing, one that counts its launches, and a graph of either.
struct Kernels {
  std::unique_ptr<Program> program;
  Kernel *empty, *increment;
  Buffer counter;
  std::unique_ptr<Graph> graph;

  Status launch_each(Stream& stream, unsigned launches, bool counting) {
    for (unsigned i = 0; i < launches; ++i) {
      TRY(counting ? launch(stream, *increment, {}, counter.data())
                   : launch(stream, *empty, {}, 0));
    }
    return {};
  }
};

Result<SimpleCase> prepare(const Cell& cell, PrepareContext context) {
  const std::string_view metric = cell.text("metric");
  const bool in_graph = metric == "graph_node", gap = metric == "event_gap";
  const unsigned in_a_row = metric == "submit"                     ? 20
                            : metric == "back_to_back" || in_graph ? 1000
                                                                   : 1;
  const auto kernels = std::make_shared<Kernels>();
  kernels->program = TRY(context.device.build({"empty", {}}));
  kernels->empty = TRY(kernels->program->kernel("empty"));
  kernels->increment = TRY(kernels->program->kernel("increment"));
  kernels->counter = TRY(context.device.allocate(sizeof(std::uint32_t), MemoryKind::device));
  const auto run = [=](Stream& stream, bool counting) {
    if (gap) return Status();  // the sampler's two events and nothing between them
    return in_graph ? stream.launch(*kernels->graph)
                    : kernels->launch_each(stream, in_a_row, counting);
  };
  const auto capture = [=](Stream& stream, bool counting) -> Status {
    const auto queue = [&] { return kernels->launch_each(stream, in_a_row, counting); };
    if (in_graph) kernels->graph = TRY(captured(stream, queue));
    return {};
  };
  SimpleCase made{.work = {.repetitions = static_cast<double>(in_a_row)},
                  .quantity = Quantity::latency,
                  .fits_behind_gate = metric != "back_to_back",
                  .enqueue = [run](Stream& stream) { return run(stream, false); }};
  if (metric == "latency") made.time_source = TimeSource::host_clock;
  if (metric == "submit") made.time_source = TimeSource::enqueue_only;
  TRY(capture(context.stream, false));
  if (gap) {
    const double resolution =
        TRY(event_resolution(context.device, context.stream, *kernels->empty));
    made.notes = {{"event_resolution", resolution > 0 ? format_seconds(resolution) : "unknown"}};
  }
  // Verification repeats the launches, including the graph, with a kernel that counts them.
  made.verify = [=](Stream& stream) -> Result<Verification> {
    TRY(stream.fill(kernels->counter.data(), 0, kernels->counter.bytes()));
    TRY(capture(stream, true));
    TRY(run(stream, true));
    const unsigned ran = TRY(read_back<std::uint32_t>(stream, kernels->counter.data(), 1)).front();
    const unsigned expected = gap ? 0 : in_a_row;
    return Verification{
        ran == expected, "kernels that ran, counted by themselves",
        static_cast<double>(ran) - expected, 0,
        ran == expected ? "" : fmt::format("{} ran, {} were launched", ran, expected)};
  };
  return made;
}

const SimpleBenchmark benchmark{
    {.name = "launch",
     .summary = "cost of starting work: launches, graph nodes, events",
     .axes =
         {{"metric",
           "latency: from launch until the host sees completion; submit: the launch call alone; "
           "back_to_back: time per kernel in a row of 1000; graph_node: the same in a replayed "
           "graph; event_gap: between two adjacent events",
           Axis::Kind::choice,
           {"all"},
           {"latency", "submit", "back_to_back", "graph_node", "event_gap"}}},
     .prepare = &prepare}};

}  // namespace
}  // namespace assay::launch_benchmark
