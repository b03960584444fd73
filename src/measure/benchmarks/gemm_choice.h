// Which library, layout and algorithm computes a gemm cell.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compute/blas/blas.h"
#include "measure/benchmarks/gemm_cell.h"
#include "measure/benchmarks/gemm_operands.h"

namespace assay {

/// One way to compute the cell, ready to be enqueued.
struct GemmCandidate {
  Blas* library = nullptr;
  GemmProblem problem;
  GemmAlgorithm algorithm;
  int rank = 0;  ///< position in the library's own order, from 0
  std::unique_ptr<GemmPlan> plan;
};

/// Libraries opened for a cell, and their candidates.
struct GemmCandidates {
  std::vector<std::unique_ptr<Blas>> libraries;  // must outlive the plans
  std::vector<GemmCandidate> candidates;
};

/// algorithm=default: for each layout, the first choice of the first library that supports the
/// cell; algorithm=best: up to 64 from each library the cell allows. Error: unsupported or
/// unavailable, with all reasons, if there are none.
Result<GemmCandidates> find_candidates(Device& device, const GemmCell& cell);

/// Measures the candidates on the device with the first set of operands and returns the index of
/// the fastest. Error: the last candidate's, if none runs.
Result<std::size_t> fastest_candidate(GemmMatrices& matrices, Stream& stream,
                                      GemmCandidates& candidates, Workspace workspace);

}  // namespace assay
