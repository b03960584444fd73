// What `assay tune conv` found, as a table and as JSON. Pure functions.
#pragma once

#include <span>
#include <string>

#include "advise/tune/conv/convolution_outcome.h"
#include "advise/tune/conv/miopen_databases.h"
#include "cli/terminal.h"
#include "core/json_fwd.h"

namespace assay::cli {

/// The list of convolutions to tune, before anything was measured.
std::string convolution_list_text(std::span<const CountedConvolution> convolutions,
                                  const DeviceFacts& facts, std::size_t width, const Style& style);
Json convolution_list_json(std::span<const CountedConvolution> convolutions);

/// Time before and after, gain with its interval, share of the roofline; then the total time saved.
std::string tuned_convolutions_text(std::span<const ConvolutionOutcome> outcomes, std::size_t width,
                                    const Style& style);
Json tuned_convolutions_json(std::span<const ConvolutionOutcome> outcomes);

/// Where MIOpen's databases lie, what changed in them, and how to use them.
std::string databases_text(const std::string& folder, std::span<const DatabaseChange> changes);
Json databases_json(const std::string& folder, std::span<const DatabaseChange> changes);

}  // namespace assay::cli
