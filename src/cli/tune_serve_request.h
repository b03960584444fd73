// The request that the user made to `assay tune serve`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/load_request.h"
#include "core/result.h"
#include "serving/spawn.h"
#include "tune/server_trial.h"

namespace assay::cli {

struct TuneServeRequest {
  SpawnPlan spawn;   ///< with default settings, without log path
  LoadRequest load;  ///< one point, without servers
  std::vector<Settings> candidates;
  std::vector<LatencyLimit> limits;
  std::size_t pairs = 3;
  std::string folder;
};

/// Error: usage, naming what is wrong.
Result<TuneServeRequest> read_tune_serve(const Arguments& arguments);

}  // namespace assay::cli
