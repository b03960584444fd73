// The axes of the benchmark `conv`, and the parsed form of a cell.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compute/autotune/choice_cache.h"
#include "compute/vendor/convolution/convolution.h"
#include "measure/grid/axis.h"

namespace assay {

const std::vector<Axis>& conv_axes();

/// The cell with `auto` values decided for the device, and every value in its shortest form ("1"
/// for "1x1").
Cell decide_conv_cell(const Cell& cell, const DeviceFacts& facts);

struct ConvCell {
  ConvolutionProblem problem;
  std::string library;  ///< name of the library, or "auto"
  ConvolutionSearch search = ConvolutionSearch::every;
  bool graph = false;  ///< several convolutions are replayed from a graph
};
/// Parses a decided cell. Error: usage if its axes contradict each other.
Result<ConvCell> parse_conv_cell(const Cell& cell);

/// The key under which the fastest plan of a library ("cuDNN 9.19.0") is cached.
ChoiceKey conv_choice_key(const std::string& library, const ConvolutionProblem& problem);

/// The settings of all axes that describe `problem`, for suites made from other programs' files.
std::vector<AxisSetting> conv_settings(const ConvolutionProblem& problem);

}  // namespace assay
