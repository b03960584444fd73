// The files that tuning writes for PyTorch (TunableOp) and for hipBLASLt. Pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "advise/tune/gemm/blas_log.h"
#include "advise/tune/gemm/override_file.h"
#include "advise/tune/gemm/product_outcome.h"
#include "advise/tune/gemm/tunable_fit.h"
#include "advise/tune/gemm/tunable_op.h"
#include "core/result.h"

namespace assay {

/// A GEMM and the outcome of tuning it.
struct TunedProduct {
  CountedProblem product;
  ProductOutcome outcome;
};

/// The content of a file, and the tuned GEMMs that the maker left out of it or whose best solution
/// it could not write, each with the reason. Failed ones are not listed.
template <typename File>
struct TunedFile {
  File file;
  std::vector<std::string> left_out;
};

/// Makes one row for each GEMM that PyTorch calls through TunableOp: the best solution if PyTorch
/// has a name for it, otherwise or without a proven gain "Default", so that PyTorch does not search
/// again. `validators` are those that PyTorch itself writes, which include its version. Error:
/// usage if they do not include it.
Result<TunedFile<TunableResults>> tunable_results(std::span<const TunedProduct> products,
                                                  const Validators& validators);

/// The machine for which an override file is made.
struct OverrideTarget {
  std::string git_version;  ///< hipBLASLt's, as OverrideFacts::git_version
  std::string arch;         ///< "gfx942:sramecc+:xnack-"
  int multiprocessors = 0;
  std::uint64_t rotating_bytes = 0;  ///< operands in rotation while the GEMMs were timed
  OverrideFormat format = OverrideFormat::named;
};
/// Makes one row for each GEMM whose best solution is one of hipBLASLt and proven faster.
TunedFile<OverrideFile> override_file(std::span<const TunedProduct> products,
                                      const OverrideTarget& target);

}  // namespace assay
