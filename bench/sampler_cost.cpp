// The cost of the sampler itself: host time per sample beyond the work, on the scripted device
// (pure bookkeeping) and on the CPU backend (with real streams, events and gate), and the time of
// the statistics that a stopping rule recomputes. Run: build/bench/bench_sampler
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "compute/device/backend.h"
#include "compute/device/rtc_worker.h"
#include "core/random.h"
#include "measure/sampling/sampler.h"
#include "measure/sampling/stopping_rule.h"
#include "statistics/summary.h"

namespace assay {
namespace {

/// Work that does nothing, so that only the sampler takes time.
class EmptyCase final : public Case {
 public:
  explicit EmptyCase(TimeSource source) : source_(source) {}
  Work work() const override { return {}; }
  Quantity quantity() const override { return Quantity::latency; }
  Limit limit() const override { return Limit::none; }
  TimeSource time_source() const override { return source_; }
  Status enqueue(Stream&) override { return {}; }
  Result<Verification> verify(Stream&) override { return Verification{true, "", 0, 0, ""}; }

 private:
  TimeSource source_;
};

void per_sample(benchmark::State& state, const char* device_name, TimeSource source) {
  setenv("ASSAY_FAKE", "noise=0.001,launch=0.00001", 1);
  auto backends = make_backends();
  auto device = open_device(backends, device_name);
  auto sampler = device ? Sampler::create(**device) : Result<std::unique_ptr<Sampler>>(Error{});
  if (!sampler) return state.SkipWithError("no such device");
  EmptyCase work(source);
  SamplingLimits limits;
  limits.least_samples = limits.most_samples = 1000;
  limits.warmup_seconds = 0;
  limits.precision = 0;
  limits.time_box_seconds = 60;
  for (auto _ : state) {
    auto set = (*sampler)->take(work, limits, [] { return false; });
    benchmark::DoNotOptimize(set);
  }
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK_CAPTURE(per_sample, scripted_device, "fake", TimeSource::device_events)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(per_sample, cpu_events, "cpu", TimeSource::device_events)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(per_sample, cpu_host_clock, "cpu", TimeSource::host_clock)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void summary_of(benchmark::State& state) {
  Random random(1);
  std::vector<double> values;
  for (int i = 0; i < state.range(0); ++i) values.push_back(random.normal());
  for (auto _ : state) benchmark::DoNotOptimize(summarize(values));
}
BENCHMARK(summary_of)->Arg(30)->Arg(1000)->Arg(10000);

void stopping_rule_to(benchmark::State& state) {
  SamplingLimits limits;
  limits.precision = 0;
  for (auto _ : state) {
    StoppingRule rule(limits);
    Random random(1);
    for (int i = 0; i < state.range(0); ++i)
      benchmark::DoNotOptimize(rule.after(random.uniform(), 0));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(stopping_rule_to)->Arg(1000)->Arg(10000);

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  if (const auto status = assay::run_as_rtc_worker(argc, argv)) return *status;
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
