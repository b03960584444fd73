// What the user asks `assay tune conv` for.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "advise/tune/conv/convolution_list.h"
#include "cli/advise/tune_devices.h"
#include "cli/command.h"
#include "results/record/cell.h"

namespace assay::cli {

struct TuneConvRequest {
  std::vector<Cell> cells;     ///< of axes and suites, not yet decided for a device
  ConvolutionList from_files;  ///< of --from
  TunePlace place;
  std::size_t pairs = 10;
  double budget_seconds = 3;     ///< of each convolution in a run
  std::filesystem::path db;      ///< --db; empty: one in the tuning's folder
  std::filesystem::path before;  ///< --before; empty: what the environment says
  bool list_only = false, json = false;
};

/// Error: usage.
Result<TuneConvRequest> read_tune_conv(const Arguments& arguments);

}  // namespace assay::cli
