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

/// Replaces "auto" in four axes: precision and n (the batch) get what suits the device, w (the
/// width) gets the height h, and pad gets "same" padding, with which the output is as large as the
/// input at stride 1 if the filter is odd.
/// Shortens filter, stride, pad and dilation to one number where all dimensions are equal ("1" for
/// "1x1"). The axis library may remain "auto".
Cell decide_conv_cell(const Cell& cell, const DeviceFacts& facts);

struct ConvCell {
  ConvolutionProblem problem;
  std::string library;                                  ///< "cudnn", "miopen", "onednn" or "auto"
  ConvolutionSearch search = ConvolutionSearch::every;  ///< axis find; "best" is `every`
  bool graph = false;  ///< each launch replays a captured graph of 20 convolutions
};
/// Parses a cell that decide_conv_cell() returned. Error: usage, if precision, n, w or pad is still
/// "auto", if filter, stride, pad or dilation has neither one number nor one for each dimension, or
/// if validate() refuses the problem.
Result<ConvCell> parse_conv_cell(const Cell& cell);

/// Returns the key under which ChoiceCache keeps the fastest algorithm for launches without a
/// graph; launches from a graph have a key of their own (conv.cpp). `library_and_version` is
/// Convolution::library(): "cuDNN 9.19.0".
ChoiceKey conv_choice_key(const std::string& library_and_version,
                          const ConvolutionProblem& problem);

/// Returns `problem` as settings of all axes except library, find and launch.
std::vector<AxisSetting> conv_settings(const ConvolutionProblem& problem);

}  // namespace assay
