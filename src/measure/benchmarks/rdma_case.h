// A cell of `rdma`, seen from one rank of the team, which prepares, runs and checks it.
#pragma once

#include <memory>

#include "measure/benchmarks/benchmark.h"
#include "measure/benchmarks/rdma_settings.h"

namespace assay {

/// Called by all ranks of the team, including those that take no part. Error: the same on all
/// ranks.
Result<std::unique_ptr<Case>> prepare_rdma(const RdmaSettings& settings, PrepareContext context);

}  // namespace assay
