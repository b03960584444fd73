// Names that complete arguments of several commands, with spaces between them.
#pragma once

#include <string>

namespace assay::cli {

std::string suite_names();
std::string benchmark_names();
/// What `assay run` takes: the suites, then the benchmarks.
std::string target_names();
std::string reference_names();  ///< names of published figures (judge/report/reference.h)
/// What `assay list` describes: target_names(), references, and "references".
std::string listed_names();

}  // namespace assay::cli
