#include <algorithm>

#include "measure/benchmarks/benchmark.h"

namespace assay {

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
