#include "compute/vendor/blas/supported_product_types.h"

#include "compute/device/matrix_unit_types.h"

namespace assay {

std::optional<std::string> cuda_lacks_types(const GemmProblem& problem, const DeviceFacts& facts) {
  for (const DataType type : {problem.a, problem.b, problem.compute}) {
    if (auto reason = cuda_lacks_type(type, facts)) return reason;
  }
  return std::nullopt;
}

std::optional<std::string> rocm_lacks_types(const GemmProblem& problem, const DeviceFacts& facts) {
  for (const DataType type : {problem.a, problem.b, problem.compute}) {
    if (auto reason = rocm_lacks_type(type, facts)) return reason;
  }
  if (problem.fast_accumulate) return "accumulate=fast applies to NVIDIA's fp8 only";
  return std::nullopt;
}

}  // namespace assay
