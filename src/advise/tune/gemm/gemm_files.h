// The files that tuning writes for those who call the products: PyTorch's and hipBLASLt's. Pure
// functions.
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

/// A product and what tuning it found.
struct TunedProduct {
  CountedProblem product;
  ProductOutcome outcome;
};

/// A file's content, and what is not in it, with the reasons.
template <typename File>
struct TunedFile {
  File file;
  std::vector<std::string> left_out;
};

/// A row for each product that PyTorch calls through TunableOp: the best solution if it has a name
/// there, "Default" where nothing better was proven, so that PyTorch does not search again.
/// `validators`: as PyTorch itself gives them; they name its version. Error: usage, if they do not.
Result<TunedFile<TunableResults>> tunable_results(std::span<const TunedProduct> products,
                                                  const Validators& validators);

struct OverrideTarget {
  std::string git_version, arch;
  int multiprocessors = 0;
  std::uint64_t rotating_bytes = 0;
  OverrideFormat format = OverrideFormat::named;
};
/// A row for each product whose best solution is hipBLASLt's and proven.
TunedFile<OverrideFile> override_file(std::span<const TunedProduct> products,
                                      const OverrideTarget& target);

}  // namespace assay
