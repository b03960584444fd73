// launch: the cost of starting work on the device, without the work itself.
#include <fmt/format.h>

#include <algorithm>
#include <latch>
#include <memory>

#include "compute/device/helpers.h"
#include "core/units.h"
#include "machine/system/affinity.h"
#include "measure/grid/simple_benchmark.h"
#include "measure/sampling/event_resolution.h"

namespace assay::launch_benchmark {
namespace {

Result<SimpleCase> prepare(const Cell& cell, PrepareContext context) {
  const std::string_view metric = cell.text("metric");
  const bool in_graph = metric == "graph_node", in_row = in_graph || metric == "back_to_back";
  const bool gap = metric == "event_gap";  // between the sampler's two events there is nothing
  const unsigned launches = gap ? 0 : in_row ? 1000 : metric == "submit" ? 20 : 1;
  const std::shared_ptr<Program> program = TRY(context.device.build({"empty", {}}));
  Kernel* const empty = TRY(program->kernel("empty"));
  Kernel* const increment = TRY(program->kernel("increment"));
  const auto counter =
      std::make_shared<Buffer>(TRY(context.device.allocate(4, MemoryKind::device)));
  const auto graph = std::make_shared<std::unique_ptr<Graph>>();
  const auto launch_each = [=, owner = program](Stream& stream, bool counting) -> Status {
    for (unsigned i = 0; i < launches; ++i) {
      TRY(counting ? launch(stream, *increment, {}, counter->data())
                   : launch(stream, *empty, {}, 0));
    }
    return {};
  };
  const auto prepare_run = [=](Stream& stream, bool counting) -> Status {
    if (in_graph) *graph = TRY(captured(stream, [&] { return launch_each(stream, counting); }));
    return {};
  };
  const bool on_cpu = context.device.facts().is_host_cpu(), is_row = metric == "back_to_back";
  const auto run = [=](Stream& stream, bool counting) -> Status {
    if (in_graph) return stream.launch(**graph);
    if (!on_cpu || !is_row) return launch_each(stream, counting);
    // How often the stream's thread and this one take turns is up to the scheduler, so the stream
    // sleeps until the row is queued.
    const auto queued = std::make_shared<std::latch>(1);
    TRY(stream.call([queued] { queued->wait(); }));
    const Status launched = launch_each(stream, counting);
    queued->count_down();  // also after a failure: nobody else would
    return launched;
  };
  TRY(prepare_run(context.stream, false));
  // A CPU stream is a thread. Where this thread shares its CPU, a row costs the same in every
  // process; elsewhere its cost depends on how far apart the scheduler put the two.
  const bool is_queued_in_view = in_row ? !in_graph : !gap;
  std::shared_ptr<StayOnCpu> place;
  if (const std::vector<int> cpus = affinity_cpus(); on_cpu && is_queued_in_view && !cpus.empty()) {
    place = std::make_shared<StayOnCpu>(cpus.front());
  }
  SimpleCase made{.work = {.repetitions = std::max<double>(launches, 1)},
                  .quantity = Quantity::latency,
                  .fits_behind_gate = metric != "back_to_back",
                  .may_repeat = metric != "latency" && !gap,
                  .enqueue = [run, place](Stream& stream) { return run(stream, false); }};
  // Only the host's clock encloses both launching a row and running it.
  if (metric == "latency" || (on_cpu && is_row)) made.time_source = TimeSource::host_clock;
  if (metric == "submit") made.time_source = TimeSource::enqueue_only;
  if (gap) {
    const double seconds = TRY(event_resolution(context.device, context.stream, *empty));
    made.notes = {{"event_resolution", seconds > 0 ? format_seconds(seconds) : "unknown"}};
  }
  // Verification repeats the launches, including the graph, with a kernel that counts them.
  made.verify = [=](Stream& stream) -> Result<Verification> {
    TRY(stream.fill(counter->data(), 0, counter->bytes()));
    TRY(prepare_run(stream, true));
    TRY(run(stream, true));
    const unsigned ran = TRY(read_back<unsigned>(stream, counter->data(), 1)).front();
    return exact_verification("kernels that ran, counted by themselves",
                              std::max(ran, launches) - std::min(ran, launches),
                              fmt::format("{} ran, {} were launched", ran, launches));
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
