// Speed of the virtual MI300X: wave instructions per second of one host thread, with all checks, on
// memory kernels. Goal: 3 million. Run: build/bench/bench_mi300x
#include <benchmark/benchmark.h>

#include <stdexcept>

#include "compile.h"
#include "launching.h"

namespace mi300x {
namespace {

constexpr unsigned threads = 256, groups = 64;
constexpr std::size_t elements = std::size_t{1} << 20;

template <typename T>
void memory_kernel(benchmark::State& state, const char* kernel) {
  if (!no_compiler().empty()) return state.SkipWithError(no_compiler().c_str());
  const std::string kernels = ASSAY_SOURCE_DIR "/src/compute/kernels";
  const auto module =
      Module::load(compile_file(kernels + "/memory.cu", "gfx942", "-I" + kernels), "gfx942");
  const Buffer<T> out(elements, T{}), a(elements, T{1}), b(elements, T{2});
  Settings one_thread;
  one_thread.threads = 1;
  std::uint64_t executed = 0;
  for (auto _ : state) {
    executed += launch(module, kernel, {{groups}, {threads}, 0}, one_thread, out.data(), a.data(),
                       b.data(), std::uint64_t{elements}, 3)
                    .wave_instructions;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(executed));
}
constexpr auto f32 = memory_kernel<float>;
constexpr auto f64 = memory_kernel<double>;
BENCHMARK_CAPTURE(f32, copy, "copy_f32")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(f64, copy, "copy_f64")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(f32, triad, "triad_f32")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(f64, triad, "triad_f64")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(f32, dot, "dot_f32")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(f64, dot, "dot_f64")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace mi300x

BENCHMARK_MAIN();
