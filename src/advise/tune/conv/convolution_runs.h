// Measures convolutions in a child process, `assay run`, because libraries read the location and
// content of their databases only once per process.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "advise/tune/conv/convolution_tuner.h"
#include "advise/tune/settings.h"

namespace assay {

/// How a run is configured; its ConvolutionRole (convolution_tuner.h) decides that.
struct ConvolutionWay {
  std::string find;    ///< the value of the benchmark's axis `find`
  Settings variables;  ///< environment variables
};
/// Returns the configuration for MIOpen. A search writes into the databases in `databases`, which
/// tuned runs read. Runs as before tuning use the databases in `before`, or those of the
/// environment if `before` is empty.
ConvolutionWay miopen_way(ConvolutionRole role, const std::filesystem::path& databases,
                          const std::filesystem::path& before);
/// Returns the configuration for libraries without databases: the library's default against the
/// fastest algorithm that it offers, which assay measures and remembers in the folder `cache`. This
/// folder belongs to the tuning, so the search measures regardless of the user's cache, which later
/// gets only what is proven.
ConvolutionWay chosen_way(ConvolutionRole role, const std::filesystem::path& cache);

/// What all runs of a tuning have in common.
struct ConvolutionRunRequest {
  std::string binary;         ///< this program
  std::string device;         ///< "hip:0", as for --device
  double budget_seconds = 0;  ///< time per convolution, including preparation and verification
  /// The tuning's folder; runs/search, runs/before and runs/tuned in it are stores of records.
  std::filesystem::path folder;
  std::function<bool()> stop_requested;
};

/// Runs the convolutions in a child process, as RunConvolutions; those that it had not reached when
/// it died have a reason. Error: interrupted; failed if nothing was measured; as create_folder(),
/// write_file() (core/write_file.h) and run_program() (core/program.h).
Result<MeasuredConvolutions> run_convolutions(const ConvolutionRunRequest& request,
                                              ConvolutionRole role, const ConvolutionWay& way,
                                              std::span<const ConvolutionProblem> problems);

}  // namespace assay
