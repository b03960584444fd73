#include "cli/completion_words.h"

#include "measure/grid/benchmark.h"
#include "measure/suites/suite.h"

namespace assay::cli {

std::string suite_names() {
  std::string names;
  if (const auto suites = built_in_suites(); suites.ok()) {
    for (const Suite& suite : *suites) names += (names.empty() ? "" : " ") + suite.name;
  }
  return names;
}

std::string benchmark_names() {
  std::string names;
  for (const Benchmark* benchmark : benchmarks()) {
    names += (names.empty() ? "" : " ") + std::string(benchmark->name());
  }
  return names;
}

std::string target_names() {
  return suite_names() + " " + benchmark_names();
}

}  // namespace assay::cli
