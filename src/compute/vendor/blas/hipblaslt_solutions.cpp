#include "compute/vendor/blas/hipblaslt_solutions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "compute/vendor/blas/lt_descriptors.h"

namespace assay::lt {
namespace {

constexpr int gemm_type_plain = 1;  // hipblaslt_ext::GemmType::HIPBLASLT_GEMM
constexpr int status_internal_error = 6;

/// C++ functions may throw, unlike C's; the status then is one of the library's own.
template <typename Call>
int guarded(const Call& call) {
  try {
    return call();
  } catch (...) {
    return status_internal_error;
  }
}

std::string name_of_solution(std::string (*function)(Handle, Solution&), Handle handle,
                             Solution& solution) {
  std::string name;
  if (function != nullptr) {
    guarded([&] {
      name = function(handle, solution);
      return 0;
    });
  }
  return name;
}

}  // namespace

std::string SolutionFunctions::revision(Handle handle) const {
  std::array<char, 256> text = {};  // the library copies about 20 bytes and says no size
  if (get_revision == nullptr || get_revision(handle, text.data()) != 0) return {};
  text.back() = 0;
  return text.data();
}

SolutionFunctions bind_solution_functions(const SharedLibrary& library) {
  SolutionFunctions functions;
  library.bind(functions.get_all,
               {"_ZN13hipblaslt_ext11getAllAlgosEPvNS_8GemmTypeE18hipblasOperation_tS2_"
                "11hipDataTypeS3_S3_S3_20hipblasComputeType_tRSt6vectorI33_"
                "hipblasLtMatmulHeuristicResult_tSaIS6_EE"});
  library.bind(functions.is_supported,
               {"_ZN13hipblaslt_ext21matmulIsAlgoSupportedEPvP27hipblasLtMatmulDescOpaque_tPKv"
                "P29hipblasLtMatrixLayoutOpaque_tS6_S4_S6_S6_R22_hipblasLtMatmulAlgo_tRm"});
  library.bind(functions.solution_name,
               {"_ZN13hipblaslt_ext23getSolutionNameFromAlgoB5cxx11EPvR22_hipblasLtMatmulAlgo_t"});
  library.bind(functions.kernel_name,
               {"_ZN13hipblaslt_ext21getKernelNameFromAlgoB5cxx11EPvR22_hipblasLtMatmulAlgo_t"});
  library.bind(functions.get_revision, {"hipblasLtGetGitRevision"});
  return functions;
}

std::int32_t solution_index(const void* algorithm) {
  std::int32_t index = 0;
  std::memcpy(&index, algorithm, sizeof(index));
  return index;
}

std::string solution_text(std::int32_t index) {
  return fmt::format("solution={}", index);
}

Result<std::vector<GemmAlgorithm>> all_solutions(const Library& library,
                                                 const SolutionFunctions& functions, Handle handle,
                                                 const Descriptors& descriptors,
                                                 const GemmProblem& p,
                                                 const std::vector<GemmAlgorithm>& listed,
                                                 std::size_t workspace_bytes, std::size_t most) {
  if (functions.get_all == nullptr || functions.is_supported == nullptr) return listed;
  const Dialect& dialect = library.dialect;
  const auto operation = [&](bool transpose) {
    return transpose ? dialect.operation_transpose : dialect.operation_none;
  };
  std::vector<SolutionResult> results;
  // The operands are swapped: see lt_descriptors.h.
  const int status = guarded([&] {
    return functions.get_all(handle, gemm_type_plain, operation(p.transpose_b),
                             operation(p.transpose_a), data_type(p.b), data_type(p.a),
                             data_type(p.c), data_type(p.d), compute_number(dialect, p.compute),
                             results);
  });
  if (status != 0) return status_error(library, "getAllAlgos", status, p);
  std::sort(results.begin(), results.end(), [](const SolutionResult& a, const SolutionResult& b) {
    return solution_index(a.solution.data) < solution_index(b.solution.data);
  });
  const Scalar alpha(p.compute, p.alpha), beta(p.compute, p.beta);
  std::vector<GemmAlgorithm> found;
  for (SolutionResult& result : results) {
    if (found.size() == most) break;
    std::size_t needed = 0;
    const int supported = guarded([&] {
      return functions.is_supported(handle, descriptors.operation(), alpha.address(),
                                    descriptors.left(), descriptors.right(), beta.address(),
                                    descriptors.c(), descriptors.d(), result.solution, needed);
    });
    if (supported != 0 || needed > workspace_bytes) continue;
    GemmAlgorithm algorithm;
    algorithm.workspace_bytes = needed;
    std::memcpy(algorithm.data.data(), &result.solution, sizeof(result.solution));
    algorithm.index = solution_index(result.solution.data);
    algorithm.name = solution_text(solution_index(result.solution.data));
    algorithm.solution = name_of_solution(functions.solution_name, handle, result.solution);
    algorithm.kernel = name_of_solution(functions.kernel_name, handle, result.solution);
    found.push_back(std::move(algorithm));
  }
  return found;
}

}  // namespace assay::lt
