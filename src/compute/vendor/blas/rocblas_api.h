// The few functions and numbers of rocBLAS (3 to 5) that are used. rocblas_int is 32 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/data_type.h"
#include "core/result.h"

namespace assay::rocblas {

constexpr int operation_none = 111, operation_transpose = 112;
constexpr int algorithm_standard = 0, algorithm_solution_index = 1;

/// Returns the rocblas_datatype; -1 for types that its gemm_ex does not take.
constexpr int data_type(DataType type) {
  switch (type) {
    case DataType::f16:
      return 150;
    case DataType::f32:
      return 151;
    case DataType::f64:
      return 152;
    case DataType::i8:
      return 160;
    case DataType::i32:
      return 162;
    case DataType::bf16:
      return 168;
    default:
      return -1;
  }
}

constexpr std::string_view status_name(int status) {
  switch (status) {
    case 0:
      return "success";
    case 1:
      return "invalid handle";
    case 2:
      return "not implemented";
    case 3:
      return "invalid pointer";
    case 4:
      return "invalid size";
    case 5:
      return "memory error";
    case 6:
      return "internal error";
    case 7:
      return "performance degraded";
    case 8:
      return "size query mismatch";
    case 9:
      return "size increased";
    case 10:
      return "size unchanged";
    case 11:
      return "invalid value";
    case 12:
      return "continue";
    case 13:
      return "numerics check failed";
    case 14:
      return "excluded from build";
    case 15:
      return "architecture mismatch";
    default:
      return "unknown status";
  }
}

/// Returns the kind of error of a call that failed with this status.
constexpr ErrorKind kind_of_status(int status) {
  constexpr int not_implemented = 2, memory_error = 5, other_architecture = 15;
  return status == not_implemented || status == other_architecture ? ErrorKind::unsupported
         : status == memory_error                                  ? ErrorKind::exhausted
                                                                   : ErrorKind::failed;
}

#define ASSAY_ROCBLAS_GEMM                                                                       \
  void *handle, int op_a, int op_b, std::int32_t m, std::int32_t n, std::int32_t k,              \
      const void *alpha, const void *a, int a_type, std::int32_t lda, const void *b, int b_type, \
      std::int32_t ldb, const void *beta, const void *c, int c_type, std::int32_t ldc, void *d,  \
      int d_type, std::int32_t ldd, int compute_type, int algorithm
#define ASSAY_ROCBLAS_GEMM_BATCHED                                                             \
  void *handle, int op_a, int op_b, std::int32_t m, std::int32_t n, std::int32_t k,            \
      const void *alpha, const void *a, int a_type, std::int32_t lda, std::int64_t stride_a,   \
      const void *b, int b_type, std::int32_t ldb, std::int64_t stride_b, const void *beta,    \
      const void *c, int c_type, std::int32_t ldc, std::int64_t stride_c, void *d, int d_type, \
      std::int32_t ldd, std::int64_t stride_d, std::int32_t batch, int compute_type, int algorithm

// F(member, symbol, parameters); all functions return a status, 0 being success.
#define ASSAY_ROCBLAS_FUNCTIONS(F)                                                           \
  F(create, rocblas_create_handle, (void** handle))                                          \
  F(destroy, rocblas_destroy_handle, (void* handle))                                         \
  F(get_version, rocblas_get_version_string, (char* text, std::size_t bytes))                \
  F(set_stream, rocblas_set_stream, (void* handle, void* stream))                            \
  F(set_workspace, rocblas_set_workspace, (void* handle, void* address, std::size_t bytes))  \
  F(gemm, rocblas_gemm_ex, (ASSAY_ROCBLAS_GEMM, std::int32_t solution, std::uint32_t flags)) \
  F(gemm_batched, rocblas_gemm_strided_batched_ex,                                           \
    (ASSAY_ROCBLAS_GEMM_BATCHED, std::int32_t solution, std::uint32_t flags))
// The following are a beta interface, exported by every release. Without them rocBLAS can only use
// its own choice of solution.
#define ASSAY_ROCBLAS_OPTIONAL_FUNCTIONS(F)                                              \
  F(solutions, rocblas_gemm_ex_get_solutions,                                            \
    (ASSAY_ROCBLAS_GEMM, std::uint32_t flags, std::int32_t * list, std::int32_t * size)) \
  F(solutions_batched, rocblas_gemm_strided_batched_ex_get_solutions,                    \
    (ASSAY_ROCBLAS_GEMM_BATCHED, std::uint32_t flags, std::int32_t * list, std::int32_t * size))

struct Functions {
#define ASSAY_ROCBLAS_MEMBER(member, symbol, parameters) int(*member) parameters = nullptr;
  ASSAY_ROCBLAS_FUNCTIONS(ASSAY_ROCBLAS_MEMBER)
  ASSAY_ROCBLAS_OPTIONAL_FUNCTIONS(ASSAY_ROCBLAS_MEMBER)
#undef ASSAY_ROCBLAS_MEMBER
};

}  // namespace assay::rocblas
