// Lists all solutions of hipBLASLt through its C++ interface, hipblaslt_ext. Its functions are
// found by the mangled names that g++ and clang use. They take std::vector and std::string of
// libstdc++, with which ROCm's libraries are built.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compute/vendor/blas/cublaslt_or_hipblaslt.h"
#include "core/shared_library.h"

namespace assay::lt {

class Descriptors;

/// hipblasLtMatmulAlgo_t and hipblasLtMatmulHeuristicResult_t.
struct Solution {
  unsigned char data[16];
  std::size_t largest_workspace;
};
struct SolutionResult {
  Solution solution;
  ResultTail tail;
};
static_assert(sizeof(Solution) == 24 && sizeof(SolutionResult) == 56);

/// A pointer is null where the library lacks the function: names came with ROCm 6.1, lists with
/// 5.7.
struct SolutionFunctions {
  int (*get_all)(Handle, int gemm_type, int operation_a, int operation_b, int type_a, int type_b,
                 int type_c, int type_d, int compute,
                 std::vector<SolutionResult>& results) = nullptr;
  int (*is_supported)(Handle, MatmulDesc, const void* alpha, MatrixLayout a, MatrixLayout b,
                      const void* beta, MatrixLayout c, MatrixLayout d, Solution&,
                      std::size_t& workspace_bytes) = nullptr;
  std::string (*solution_name)(Handle, Solution&) = nullptr;
  std::string (*kernel_name)(Handle, Solution&) = nullptr;
  int (*get_revision)(Handle, char* text) = nullptr;

  /// Returns the revision of the library's sources; empty if it does not report it.
  std::string revision(Handle handle) const;
};
SolutionFunctions bind_solution_functions(const SharedLibrary& library);

/// Returns the solution's number, which is the first int of an algorithm's data.
std::int32_t solution_index(const void* algorithm);
/// Returns the solution's name: "solution=1234".
std::string solution_text(std::int32_t index);

/// Returns at most `most` solutions for these types and transposes that support the problem within
/// `workspace_bytes`, ordered by number, with names. Returns `listed` if the library lacks the
/// functions. Error: as status_error() (lt_descriptors.h), if listing them fails.
Result<std::vector<GemmAlgorithm>> all_solutions(const Library& library,
                                                 const SolutionFunctions& functions, Handle handle,
                                                 const Descriptors& descriptors,
                                                 const GemmProblem& problem,
                                                 const std::vector<GemmAlgorithm>& listed,
                                                 std::size_t workspace_bytes, std::size_t most);

}  // namespace assay::lt
