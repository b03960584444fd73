// What launching costs the host, by kind: plain, with attributes, as a graph, as an updated graph.
// Run: build/bench/bench_launch; the device is the default one, or what ASSAY_BENCH_DEVICE names.
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "compute/device/backend.h"
#include "compute/device/rtc_worker.h"

namespace assay {
namespace {

constexpr int batch = 256;  // launches in flight, fewer than any driver's queue holds
constexpr LaunchShape shape = {{8}, {64}, 0};

struct Launcher {
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Program> program;
  Kernel* kernel = nullptr;
  std::unique_ptr<Graph> graph;

  static Result<Launcher> open() {
    const char* choice = std::getenv("ASSAY_BENCH_DEVICE");
    auto backends = make_backends();
    Launcher made;
    made.device = TRY(open_device(backends, choice == nullptr ? "" : choice));
    made.stream = TRY(made.device->create_stream());
    made.program = TRY(made.device->build({"empty", {}}));
    made.kernel = TRY(made.program->kernel("empty"));
    return made;
  }
  Status capture() {
    TRY(stream->begin_capture());
    for (int i = 0; i < batch; ++i) TRY(launch(*stream, *kernel, shape, 0));
    return {};
  }
};

/// Host time of `work` on a batch; what the device then still does is waited for outside of it.
template <typename Work>
void measure(benchmark::State& state, const Work& work) {
  auto launcher = Launcher::open();
  if (!launcher) return state.SkipWithError(launcher.error().message.c_str());
  Status status = work(*launcher);  // once: loads code, and tells what is unsupported
  for (auto _ : state) {
    if (status) status = work(*launcher);
    state.PauseTiming();
    if (status) status = launcher->stream->synchronize();
    state.ResumeTiming();
    if (!status) return state.SkipWithError(status.error().message.c_str());
  }
  state.SetItemsProcessed(state.iterations() * batch);
}

void plain(benchmark::State& state) {
  measure(state, [](Launcher& on) -> Status {
    for (int i = 0; i < batch; ++i) TRY(launch(*on.stream, *on.kernel, shape, 0));
    return {};
  });
}
BENCHMARK(plain)->UseRealTime();

void with_attributes(benchmark::State& state, const LaunchAttributes& attributes) {
  measure(state, [&](Launcher& on) -> Status {
    for (int i = 0; i < batch; ++i) TRY(launch(*on.stream, *on.kernel, shape, attributes, 0));
    return {};
  });
}
BENCHMARK_CAPTURE(with_attributes, none, LaunchAttributes{{}, false})->UseRealTime();
BENCHMARK_CAPTURE(with_attributes, programmatic, LaunchAttributes{{}, true})->UseRealTime();
BENCHMARK_CAPTURE(with_attributes, cluster_of_2, LaunchAttributes{{2}, false})->UseRealTime();
BENCHMARK_CAPTURE(with_attributes, both, LaunchAttributes{{2}, true})->UseRealTime();

void graph_launch(benchmark::State& state) {
  measure(state, [](Launcher& on) -> Status {
    if (on.graph == nullptr) {
      TRY(on.capture());
      on.graph = TRY(on.stream->end_capture());
    }
    return on.stream->launch(*on.graph);
  });
}
BENCHMARK(graph_launch)->UseRealTime();

void capture_and_graph_update(benchmark::State& state) {
  measure(state, [](Launcher& on) -> Status {
    TRY(on.capture());
    if (on.graph == nullptr) {
      on.graph = TRY(on.stream->end_capture());
    } else if (TRY(on.stream->end_capture_into(*on.graph)) != GraphUpdate::in_place) {
      return Error{ErrorKind::failed, "the graph was rebuilt"};
    }
    return {};
  });
}
BENCHMARK(capture_and_graph_update)->UseRealTime();

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  if (const auto status = assay::run_as_rtc_worker(argc, argv)) return *status;
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
