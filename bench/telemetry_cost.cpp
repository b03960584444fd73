// The cost of one tick of telemetry on this machine, without and with the slow channels (every
// tenth tick has them), and of the recorder's bookkeeping. Run: build/bench/bench_telemetry
#include <benchmark/benchmark.h>

#include <thread>

#include "machine/system/affinity.h"
#include "machine/telemetry/recorder.h"

namespace assay {
namespace {

TelemetrySources all_sources() {
  TelemetryRequest request;
  request.cpus = affinity_cpus();
  return open_telemetry_sources(std::move(request));
}

void one_tick(benchmark::State& state, bool all) {
  const TelemetrySources sources = all_sources();
  read_sources(sources, true);  // the first reading may open files and libraries
  for (auto _ : state) benchmark::DoNotOptimize(read_sources(sources, all));
  state.counters["channels"] = static_cast<double>(channels_of(sources).size());
}

void slice_of_two_seconds(benchmark::State& state) {
  TelemetryRecorder recorder({}, 0.1);
  const auto begin = TelemetryRecorder::Clock::now();
  std::this_thread::sleep_for(std::chrono::seconds(2));
  const auto end = TelemetryRecorder::Clock::now();
  for (auto _ : state) benchmark::DoNotOptimize(recorder.slice(begin, end));
}

BENCHMARK_CAPTURE(one_tick, quick, false);
BENCHMARK_CAPTURE(one_tick, with_slow_channels, true);
BENCHMARK(slice_of_two_seconds);

}  // namespace
}  // namespace assay

BENCHMARK_MAIN();
