#include "measure/grid/benchmark.h"

#include <algorithm>
#include <cmath>

namespace assay {

int Case::launches_to_fill(double sample_seconds, double seconds) const {
  if (!(seconds > 0)) return 1;
  const double most = fits_behind_gate() ? 20 : 10000;
  return static_cast<int>(std::clamp(std::round(sample_seconds / seconds), 1.0, most));
}

std::optional<double> CellValue::metric(std::string_view name) const {
  for (const Metric& one : metrics) {
    if (one.name == name) return one.value;
  }
  return std::nullopt;
}

std::vector<const Benchmark*> benchmarks() {
  std::vector<const Benchmark*> sorted = BenchmarkRegistry::entries();
  std::sort(sorted.begin(), sorted.end(),
            [](const Benchmark* a, const Benchmark* b) { return a->name() < b->name(); });
  return sorted;
}

const Benchmark* find_benchmark(std::string_view name) {
  for (const Benchmark* benchmark : BenchmarkRegistry::entries()) {
    if (benchmark->name() == name) return benchmark;
  }
  return nullptr;
}

}  // namespace assay
