// A cell of `rdma` as one rank of the team prepares, runs and checks it.
#pragma once

#include <memory>

#include "measure/benchmarks/benchmark.h"
#include "measure/benchmarks/rdma_settings.h"

namespace assay {

/// All ranks of the team call it, those that take no part, too. Error: the same on all ranks.
Result<std::unique_ptr<Case>> prepare_rdma(const RdmaSettings& settings, PrepareContext context);

}  // namespace assay
