// Which convolutions to tune, and in which order.
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

/// Of cells of the benchmark conv, decided for the device, each convolution once; other cells are
/// passed over.
ConvolutionList convolutions_of_cells(const std::vector<Cell>& cells, const DeviceFacts& facts);

/// Of a log of any size with command lines of MIOpenDriver, as MIOPEN_ENABLE_LOGGING_CMD=1 makes
/// any program print one for each search and each call: each counts once. Error: usage, naming the
/// path, if it cannot be read or holds no such line.
Result<ConvolutionList> convolutions_of_log(const std::filesystem::path& path);

/// Each convolution once, with its calls added up, those first that take the most time in total if
/// all ran at the device's rooflines; without known roofs, by FLOPs. Those that no library takes on
/// such a device are left out, with the reason.
ConvolutionList ordered(const ConvolutionList& list, const DeviceFacts& facts);

}  // namespace assay
