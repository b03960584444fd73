// Lists of convolutions to tune, in order of importance.
#pragma once

#include <filesystem>
#include <vector>

#include "advise/tune/counted_list.h"
#include "compute/vendor/convolution/convolution_problem.h"
#include "core/result.h"
#include "results/record/cell.h"
#include "results/record/device_facts.h"

namespace assay {

using CountedConvolution = Counted<ConvolutionProblem>;
using ConvolutionList = CountedList<ConvolutionProblem>;

/// Returns the convolutions of cells of the benchmark conv, each once, as decide_conv_cell()
/// (measure/benchmarks/conv/conv_cell.h) completes them for the device. Cells of other benchmarks
/// are ignored.
ConvolutionList convolutions_of_cells(const std::vector<Cell>& cells, const DeviceFacts& facts);

/// Returns the convolutions in a log of any size with command lines of MIOpenDriver. With
/// MIOPEN_ENABLE_LOGGING_CMD=1 any program prints one line for each search and each call; every
/// line counts as a call. Error: as InputLines::next() (core/input_file.h), for lines above 1 MiB;
/// usage, naming the path, if it holds no such line.
Result<ConvolutionList> convolutions_of_log(const std::filesystem::path& path);

/// Merges equal convolutions, summing their calls, and sorts them by total time at the device's
/// rooflines, longest first; by FLOPs if no roofline is known. Convolutions that no library
/// supports on such a device are left out, with the reason.
ConvolutionList ordered(const ConvolutionList& list, const DeviceFacts& facts);

}  // namespace assay
