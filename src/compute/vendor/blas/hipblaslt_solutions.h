// All solutions of hipBLASLt, through the functions of its C++ interface, hipblaslt_ext. They are
// found under the names that g++ and clang give them, and take std::vector and std::string of
// libstdc++, as ROCm's libraries are built.
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

/// Null where the library lacks one: before ROCm 6.1 and 5.7 it has no names and no lists.
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

  /// Empty if the library does not tell.
  std::string revision(Handle handle) const;
};
SolutionFunctions bind_solution_functions(const SharedLibrary& library);

/// The first int of an algorithm's data.
std::int32_t solution_index(const void* algorithm);
/// "solution=1234".
std::string solution_text(std::int32_t index);

/// Every solution for these types and transposes that says it supports the problem within
/// `workspace_bytes`, by its number, with its names. Without the functions: `listed`. Error:
/// failed, if listing them does.
Result<std::vector<GemmAlgorithm>> all_solutions(const Library& library,
                                                 const SolutionFunctions& functions, Handle handle,
                                                 const Descriptors& descriptors,
                                                 const GemmProblem& problem,
                                                 const std::vector<GemmAlgorithm>& listed,
                                                 std::size_t workspace_bytes, std::size_t most);

}  // namespace assay::lt
