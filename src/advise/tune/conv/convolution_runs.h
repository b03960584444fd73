// Convolutions measured by a process of this program of its own, `assay run`, since libraries read
// their databases, and where these lie, once for each process.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "advise/tune/conv/convolution_tuner.h"
#include "advise/tune/settings.h"

namespace assay {

/// How a role runs.
struct ConvolutionWay {
  std::string find;    ///< the value of the benchmark's axis
  Settings variables;  ///< of its environment
};
/// MIOpen keeps what it finds in `databases`; before, it used those in `before`, or, if that is
/// empty, what the environment says.
ConvolutionWay miopen_way(ConvolutionRole role, const std::filesystem::path& databases,
                          const std::filesystem::path& before);
/// Libraries without databases: their own first choice against the fastest of all they propose,
/// which assay measures and remembers in the folder `cache`. That is the tuning's own: the search
/// measures, whatever the user's cache knows, and that gets only what is proven.
ConvolutionWay chosen_way(ConvolutionRole role, const std::filesystem::path& cache);

struct ConvolutionRunRequest {
  std::string binary;  ///< this program
  std::string device;
  double budget_seconds = 0;  ///< for each convolution, with preparing and verifying
  /// Of what is kept: runs/search, runs/before and runs/tuned are stores of records.
  std::filesystem::path folder;
  std::function<bool()> stop_requested;
};

/// Error: interrupted; failed, if nothing was measured; exhausted.
Result<MeasuredConvolutions> run_convolutions(const ConvolutionRunRequest& request,
                                              ConvolutionRole role, const ConvolutionWay& way,
                                              std::span<const ConvolutionProblem> problems);

}  // namespace assay
