// Holds what the user asks `assay tune conv` for.
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
  std::vector<Cell> cells;     ///< from axes and suites, before the device is known
  ConvolutionList from_files;  ///< from the files of --from
  TunePlace place;
  std::size_t pairs = 10;        ///< pairs of runs in the proof
  double budget_seconds = 3;     ///< time for each convolution in a run of the proof
  std::filesystem::path db;      ///< --db; empty: a database in the tuning's folder
  std::filesystem::path before;  ///< --before; empty: the databases that the environment names
  bool list_only = false, json = false;  ///< --dry-run; --json
};

/// Reads the options. Error: usage; as reading the files of --from.
Result<TuneConvRequest> read_tune_conv(const Arguments& arguments);

}  // namespace assay::cli
