// The functions and numbers of MIOpen (soname 1; ROCm 5 to 7) that convolutions need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "core/data_type.h"

namespace assay::miopen {

using Handle = void*;
using Tensor = void*;  // miopenTensorDescriptor_t
using Descriptor = void*;
using Problem = void*;
using Options = void*;
using Solution = void*;

/// miopenConvAlgoPerf_t
struct Found {
  int algorithm;
  float milliseconds;
  std::size_t workspace_bytes;
};
/// miopenConvSolution_t
struct Immediate {
  float milliseconds;
  std::size_t workspace_bytes;
  std::uint64_t id;
  int algorithm;
};
/// miopenTensorArgument_t
struct Argument {
  unsigned id;
  Tensor* descriptor;  ///< null: the problem's own descriptor
  void* buffer;
};

/// miopenStatus_t
constexpr int success = 0, alloc_failed = 4, not_implemented = 6, unsupported_op = 8;
constexpr std::string_view status_name(int status) {
  constexpr std::string_view names[] = {
      "miopenStatusSuccess",        "miopenStatusNotInitialized",
      "miopenStatusInvalidValue",   "miopenStatusBadParm",
      "miopenStatusAllocFailed",    "miopenStatusInternalError",
      "miopenStatusNotImplemented", "miopenStatusUnknownError",
      "miopenStatusUnsupportedOp",  "miopenStatusGpuOperationsSkipped",
      "miopenStatusVersionMismatch"};
  return status >= 0 && status < static_cast<int>(std::size(names)) ? names[status]
                                                                    : "unknown status";
}

/// Returns the miopenDataType_t; -1 for types that are not used here.
constexpr int data_type(DataType type) {
  switch (type) {
    case DataType::f16:
      return 0;
    case DataType::f32:
      return 1;
    case DataType::bf16:
      return 5;
    default:
      return -1;
  }
}

constexpr int mode_convolution = 0;  // miopenConvolutionMode_t: a neural network's convolution
/// miopenConvAlgorithm_t; the types of each direction have the same numbers.
constexpr int algorithm_fft = 2, algorithm_winograd = 3;
constexpr std::string_view algorithm_name(int algorithm) {
  constexpr std::string_view names[] = {"GEMM", "direct", "FFT", "Winograd", "", "implicit GEMM"};
  return algorithm >= 0 && algorithm < static_cast<int>(std::size(names)) ? names[algorithm]
                                                                          : "unknown";
}
/// miopenConvolutionFindMode_t
constexpr int find_normal = 1, find_fast = 2, find_hybrid = 3, find_dynamic_hybrid = 5;
/// miopenProblemDirection_t
constexpr int direction_forward = 0, direction_data = 1, direction_weights = 2;
/// miopenTensorArgumentId_t
constexpr unsigned tensor_x = 1, tensor_w = 2, tensor_y = 3;

// F(member, symbol, parameters); all functions return a miopenStatus_t.
#define ASSAY_MIOPEN_FUNCTIONS(F)                                                           \
  F(get_version, miopenGetVersion,                                                          \
    (std::size_t * major, std::size_t * minor, std::size_t * patch))                        \
  F(create, miopenCreateWithStream, (Handle*, void* stream))                                \
  F(destroy, miopenDestroy, (Handle))                                                       \
  F(set_stream, miopenSetStream, (Handle, void* stream))                                    \
  F(tensor_create, miopenCreateTensorDescriptor, (Tensor*))                                 \
  F(tensor_set, miopenSetTensorDescriptor,                                                  \
    (Tensor, int type, int count, const int* extents, const int* strides))                  \
  F(tensor_destroy, miopenDestroyTensorDescriptor, (Tensor))                                \
  F(descriptor_create, miopenCreateConvolutionDescriptor, (Descriptor*))                    \
  F(descriptor_init, miopenInitConvolutionNdDescriptor,                                     \
    (Descriptor, int dimensions, const int* pads, const int* strides, const int* dilations, \
     int mode))                                                                             \
  F(descriptor_set_groups, miopenSetConvolutionGroupCount, (Descriptor, int groups))        \
  F(descriptor_destroy, miopenDestroyConvolutionDescriptor, (Descriptor))

/// Functions of later releases, or absent from the public header.
#define ASSAY_MIOPEN_OPTIONAL_FUNCTIONS(F)                                                      \
  F(set_find_mode, miopenSetConvolutionFindMode, (Descriptor, int mode))                        \
  F(problem_create, miopenCreateConvProblem, (Problem*, Descriptor, int direction))             \
  F(problem_set_tensor, miopenSetProblemTensorDescriptor, (Problem, unsigned id, Tensor))       \
  F(problem_destroy, miopenDestroyProblem, (Problem))                                           \
  F(options_create, miopenCreateFindOptions, (Options*))                                        \
  F(options_set_tensor, miopenSetFindOptionPreallocatedTensor,                                  \
    (Options, unsigned id, void* buffer))                                                       \
  F(options_destroy, miopenDestroyFindOptions, (Options))                                       \
  F(find_solutions, miopenFindSolutions,                                                        \
    (Handle, Problem, Options, Solution*, std::size_t * count, std::size_t room))               \
  F(solution_workspace, miopenGetSolutionWorkspaceSize, (Solution, std::size_t * bytes))        \
  F(solution_solver, miopenGetSolutionSolverId, (Solution, std::uint64_t * id))                 \
  F(solver_algorithm, miopenGetSolverIdConvAlgorithm, (std::uint64_t id, int* algorithm))       \
  F(run_solution, miopenRunSolution,                                                            \
    (Handle, Solution, std::size_t count, const Argument*, void* workspace, std::size_t bytes)) \
  F(solution_destroy, miopenDestroySolution, (Solution))

/// Functions that exist once per direction, under different names. `a` and `b` are x and w in the
/// forward pass, the gradient of y and w for the gradient of x, and the gradient of y and x for the
/// gradient of w. Functions without an algorithm, however, take w before x in the forward pass.
#define ASSAY_MIOPEN_PASS_FUNCTIONS(F, Direction)                                                  \
  F(workspace_size, miopenConvolution##Direction##GetWorkSpaceSize,                                \
    (Handle, Tensor a, Tensor b, Descriptor, Tensor result, std::size_t * bytes))                  \
  F(find, miopenFindConvolution##Direction##Algorithm,                                             \
    (Handle, Tensor a, const void* a_data, Tensor b, const void* b_data, Descriptor,               \
     Tensor result, void* result_data, int room, int* count, Found*, void* workspace,              \
     std::size_t bytes, bool exhaustive))                                                          \
  F(run, miopenConvolution##Direction,                                                             \
    (Handle, const void* alpha, Tensor a, const void* a_data, Tensor b, const void* b_data,        \
     Descriptor, int algorithm, const void* beta, Tensor result, void* result_data,                \
     void* workspace, std::size_t bytes))                                                          \
  F(solution_count, miopenConvolution##Direction##GetSolutionCount,                                \
    (Handle, Tensor a, Tensor b, Descriptor, Tensor result, std::size_t * count))                  \
  F(solutions, miopenConvolution##Direction##GetSolution,                                          \
    (Handle, Tensor a, Tensor b, Descriptor, Tensor result, std::size_t room, std::size_t * count, \
     Immediate*))                                                                                  \
  F(compile, miopenConvolution##Direction##CompileSolution,                                        \
    (Handle, Tensor a, Tensor b, Descriptor, Tensor result, std::uint64_t id))                     \
  F(run_immediate, miopenConvolution##Direction##Immediate,                                        \
    (Handle, Tensor a, const void* a_data, Tensor b, const void* b_data, Descriptor,               \
     Tensor result, void* result_data, void* workspace, std::size_t bytes, std::uint64_t id))

#define ASSAY_MIOPEN_MEMBER(member, symbol, parameters) int(*member) parameters = nullptr;
struct Functions {
  ASSAY_MIOPEN_FUNCTIONS(ASSAY_MIOPEN_MEMBER)
  ASSAY_MIOPEN_OPTIONAL_FUNCTIONS(ASSAY_MIOPEN_MEMBER)
  const char* (*get_error_string)(int status) = nullptr;
};
struct PassFunctions {
  ASSAY_MIOPEN_PASS_FUNCTIONS(ASSAY_MIOPEN_MEMBER, Forward)
};
#undef ASSAY_MIOPEN_MEMBER

}  // namespace assay::miopen
