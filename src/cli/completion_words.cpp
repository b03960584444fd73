#include "cli/completion_words.h"

#include "judge/report/reference.h"
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

std::string reference_names() {
  std::string names;
  if (const auto references = report::built_in_references(); references.ok()) {
    for (const report::Reference& one : *references) names += (names.empty() ? "" : " ") + one.name;
  }
  return names;
}

std::string listed_names() {
  return target_names() + " references " + reference_names();
}

}  // namespace assay::cli
